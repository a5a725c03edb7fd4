// Which view is shown: by the part of the address after #.

import { askView } from "./ask.js";
import { call } from "./api.js";
import { h, problem } from "./dom.js";
import { exploreView } from "./explore.js";
import { reviewView } from "./review.js";
import { showTop } from "./top.js";

const view = document.getElementById("view");
const VIEWS = { ask: askView, explore: exploreView, review: reviewView };

async function show() {
  try {
    const stats = await call("GET", "/v1/stats");
    const first = stats.server.index ? "ask" : "review";
    const wanted = location.hash.slice(1);
    const name = wanted in VIEWS && (wanted === "review" ? stats.server.review : stats.server.index) ? wanted : first;
    showTop(stats, name);
    document.title = `${name[0].toUpperCase()}${name.slice(1)} – lookalike`;
    view.replaceChildren(...await VIEWS[name](stats));
    view.dataset.view = name;
  } catch (error) {
    view.replaceChildren(h("div", { class: "card" }, h("h1", {}, "The index cannot be shown"), problem(error),
      h("p", { class: "actions" }, h("button", { type: "button", onclick: show }, "Try again"))));
  }
}

addEventListener("hashchange", () => show().then(() => document.getElementById("main").focus()));
show();
