// The top of every page: links to the views that this server has, and what it serves.

import { count } from "./dom.js";

const NAMES = ["ask", "explore", "review"];

export function showTop(stats, current) {
  for (const name of NAMES) {
    const link = document.getElementById(`nav-${name}`);
    link.hidden = name === "review" ? !stats.server.review : !stats.server.index;
    if (name === current) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  document.getElementById("about").textContent = stats.server.index ? `${count(stats.items)} items${stats.server.read_only ? ", read-only" : ""}` : "";
}
