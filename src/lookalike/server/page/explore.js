// Explore: what is in the index.

import { call, curl, latest, withId } from "./api.js";
import { bars } from "./charts.js";
import { command, count, h, problem, side, similarity, size } from "./dom.js";

const when = (seconds) => new Date(seconds * 1000).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });

function tiles(stats) {
  const rows = [["Items", count(stats.items)], ["Size", size(stats.bytes)], ["Per item", stats.bytes_per_item ? size(Math.round(stats.bytes_per_item)) : "none"]];
  if (stats.segments !== undefined) rows.push(["Segments", count(stats.segments)], ["In the log", count(stats.log.items)]);
  if (stats.largest_bucket !== undefined) rows.push(["Largest bucket", count(stats.largest_bucket)]);
  return h("dl", { class: "tiles" }, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function chartCard(title, path, draw, none) {
  const place = h("div", { class: "empty" }, "Counting …");
  const note = (found) => (found[0].estimated ? [h("p", { class: "note" }, "Estimated from a sample of the items.")] : []);
  call("GET", path).then((found) => place.replaceWith(...(found.length ? [draw(found), ...note(found)] : [h("p", { class: "empty" }, none)])), (error) => place.replaceWith(problem(error)));
  return h("div", { class: "card" }, h("h2", {}, title), place, command(curl("GET", path)));
}

const additions = (found) => bars("Items added over time", found.map((one, at) => ({
  value: one.items, hint: `${when(one.from)} to ${when(one.to)}: ${count(one.items)} items`,
  label: at === 0 || at === found.length - 1 ? when(at ? one.to : one.from) : "",
})));

const buckets = (found) => bars("Buckets by number of items", found.map((one) => ({
  value: one.buckets, hint: `${count(one.from)} to ${count(one.to)} items: ${count(one.buckets)} buckets`,
  label: one.from === one.to ? String(one.from) : `${one.from}–${one.to}`,
})));

function options(stats) {
  const rows = { ...stats.options, bands: stats.plan?.bands, rows: stats.plan?.rows, "recall at the threshold": stats.plan?.recall?.toFixed(4) };
  return h("table", { class: "plain" }, h("tbody", {}, Object.entries(rows).filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, String(value))))));
}

export function exploreView(stats) {
  const found = h("section", { id: "found", "aria-live": "polite", "aria-label": "Item" });
  const id = h("input", { type: "search", id: "item-id", required: true, autocomplete: "off" });

  const newItem = latest();

  async function open(path) {
    const signal = newItem();
    found.classList.add("busy");
    try {
      show(await call("GET", path, undefined, signal), path);
    } catch (error) {
      if (signal.aborted) return;
      found.replaceChildren(h("div", { class: "card" }, problem(error)));
    }
    found.classList.remove("busy");
  }

  function show({ item, matches }, path) {
    const content = item.text ?? item.bits ?? (item.vector ? JSON.stringify(item.vector) : null);
    const what = stats.kind.holds === "sets" ? "shingles" : "values";
    found.replaceChildren(h("div", { class: "card" },
      side(String(item.id), content, [], "The index keeps the set of this item, not its text.", "h2"),
      h("p", { class: "note" }, `${count(item.size)} ${what}, added ${when(Date.parse(item.added_at) / 1000)}`),
      h("h2", {}, matches.length ? `${matches.length} neighbour${matches.length > 1 ? "s" : ""}` : "No neighbours"),
      h("ol", { class: "matches" }, matches.map((one) => h("li", {}, h("button", { type: "button", class: "match", "aria-pressed": "false",
        onclick: () => { id.value = one.id; open(withId("/v1/neighbors", one.id)); } },
      h("span", { class: "value" }, similarity(one[stats.kind.column])), h("span", { class: "name" }, String(one.id)),
      h("span", {}), h("span", { class: "snippet" }, one.text?.slice(0, 300) ?? ""))))),
      command(curl("GET", path))));
  }

  const form = h("form", { class: "controls", onsubmit: (event) => { event.preventDefault(); open(withId("/v1/neighbors", id.value)); } },
    h("div", { class: "field" }, h("label", { for: "item-id" }, "Item by id"), id),
    h("p", { class: "actions" }, h("button", { class: "primary" }, "Find"),
      h("button", { type: "button", onclick: () => open("/v1/random") }, "A random cluster")));
  return [h("h1", {}, "What is in the index"), tiles(stats),
    h("div", { class: "card" }, form), found,
    h("div", { class: "grid" }, chartCard("Additions over time", "/v1/additions", additions, "Nothing has been added yet."), chartCard("Buckets by number of items", "/v1/buckets", buckets, "Buckets are counted once additions have become a segment.")),
    h("div", { class: "card" }, h("h2", {}, "Options"), options(stats), command(curl("GET", "/v1/stats")))];
}
