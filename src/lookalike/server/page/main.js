// Which view is shown: by the part of the address after #.

import { askView } from "./ask.js";
import { call } from "./api.js";
import { count, h, problem } from "./dom.js";
import { exploreView } from "./explore.js";
import { reviewView } from "./review.js";

const view = document.getElementById("view");
const VIEWS = { ask: askView, explore: exploreView, review: reviewView };

async function show() {
  try {
    const stats = await call("GET", "/v1/stats");
    const first = stats.server.index ? "ask" : "review";
    const wanted = location.hash.slice(1);
    const name = wanted in VIEWS && (wanted === "review" ? stats.server.review : stats.server.index) ? wanted : first;
    for (const one of Object.keys(VIEWS)) {
      const link = document.getElementById(`nav-${one}`);
      link.hidden = one === "review" ? !stats.server.review : !stats.server.index;
      if (one === name) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
    }
    document.getElementById("about").textContent = stats.server.index ? `${count(stats.items)} items${stats.server.read_only ? ", read-only" : ""}` : "";
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
