// Which view is shown: by the part of the address after #.

import { askView } from "./ask.js";
import { call, latest } from "./api.js";
import { h, problem } from "./dom.js";
import { exploreView } from "./explore.js";
import { reviewView } from "./review.js";
import { showTop } from "./top.js";

const view = document.getElementById("view");
const VIEWS = { ask: askView, explore: exploreView, review: reviewView };

const newView = latest();

async function show() {
  const signal = newView();
  try {
    const stats = await call("GET", "/v1/stats", undefined, signal);
    const first = stats.server.index ? "ask" : "review";
    const wanted = location.hash.slice(1);
    const name = wanted in VIEWS && (wanted === "review" ? stats.server.review : stats.server.index) ? wanted : first;
    const shown = await VIEWS[name](stats);
    if (signal.aborted) return;
    showTop(stats, name);
    document.title = `${name[0].toUpperCase()}${name.slice(1)} – lookalike`;
    view.replaceChildren(...shown);
    view.dataset.view = name;
  } catch (error) {
    if (signal.aborted) return;
    view.replaceChildren(h("div", { class: "card" }, h("h1", {}, "The index cannot be shown"), problem(error),
      h("p", { class: "actions" }, h("button", { type: "button", onclick: show }, "Try again"))));
  }
}

addEventListener("hashchange", () => show().then(() => document.getElementById("main").focus()));
show();
