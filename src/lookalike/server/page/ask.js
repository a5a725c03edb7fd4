// Ask: paste a text or drop a file, see what is similar, and why.

import { call, curl, latest } from "./api.js";
import { split } from "./charts.js";
import { command, count, h, problem, side, similarity } from "./dom.js";

const HINTS = {
  sets: "Paste a text, or drop a file here.",
  undecided: "Paste a text, or drop a file here. A list of numbers such as [0.1, 0.2] is a vector.",
  vectors: "A list of numbers, such as [0.1, -0.4, 2.5]",
  bits: "A string of bits, such as 01101001",
};

function itemOf(text, holds) {
  const plain = text.trim();
  if (holds === "bits") return { bits: plain.replaceAll(/\s/g, "") };
  if (holds === "vectors" || (holds === "undecided" && plain.startsWith("["))) {
    try { return { vector: JSON.parse(plain.startsWith("[") ? plain : `[${plain}]`) }; } catch { throw new Error("Write a list of numbers, such as [0.1, -0.4, 2.5]."); }
  }
  return { text };
}

function slider(stats, changed) {
  const distance = stats.kind.column === "distance";
  const own = Number(asNumber(stats.options.threshold));
  const measure = stats.options.measure;
  const most = distance ? own : measure === "overlap" ? own * 10 : 1;
  const whole = measure === "overlap" || measure === "hamming";
  const shown = h("output", { for: "threshold" }, similarity(own));
  const input = h("input", { type: "range", id: "threshold", min: distance ? 0 : own, max: most,
    step: whole ? 1 : (most - (distance ? 0 : own)) / 100 || 0.01, value: own, oninput: () => {
      shown.textContent = similarity(Number(input.value)); changed();
    } });
  const label = h("label", { for: "threshold" }, distance ? "Distance at most " : `${measure[0].toUpperCase()}${measure.slice(1)} at least `, shown);
  return { element: h("div", { class: "field" }, label, input), value: () => (Number(input.value) === own ? undefined : Number(Number(input.value).toFixed(6))) };
}

export function asNumber(given) {
  const [top, bottom] = String(given).split("/");
  return Number(top) / Number(bottom ?? 1);
}

export function askView(stats) {
  const state = { matches: [], asked: "" };
  const newQuestion = latest(), newComparison = latest();
  const results = h("section", { id: "results", "aria-live": "polite", "aria-label": "Matches" });
  const details = h("section", { id: "details", "aria-label": "Comparison" });
  const said = h("p", { class: "note", role: "status" });
  const shownCommand = h("div");
  const text = h("textarea", { id: "text", placeholder: HINTS[stats.kind.holds], spellcheck: "false", oninput: () => later() });
  const limit = slider(stats, () => later());
  const many = h("input", { type: "number", id: "k", min: 1, max: 100, value: 10, onchange: () => ask() });
  const id = h("input", { type: "text", id: "new-id", placeholder: "numbered if empty", autocomplete: "off" });
  const add = h("button", { type: "button", onclick: () => addIfNew(), disabled: stats.server.read_only }, "Add if new");
  let timer = 0;

  function later() { clearTimeout(timer); timer = setTimeout(ask, 350); }

  function question() {
    const body = { ...itemOf(text.value, stats.kind.holds), k: Number(many.value) || 10 };
    if (limit.value() !== undefined) body.threshold = limit.value();
    return body;
  }

  async function ask() {
    clearTimeout(timer);
    const signal = newQuestion();
    newComparison();
    details.replaceChildren();
    results.classList.remove("busy");
    if (!text.value.trim()) { welcome(); return; }
    results.classList.add("busy");
    try {
      const body = question();
      shownCommand.replaceChildren(command(curl("POST", "/v1/query", body)));
      const started = performance.now();
      const asked = text.value;
      const answer = await call("POST", "/v1/query", body, signal);
      state.matches = answer.matches;
      state.asked = asked;
      said.textContent = `Answered in ${Math.max(1, Math.round(performance.now() - started))} ms.`;
      show();
    } catch (error) {
      if (!signal.aborted) results.replaceChildren(h("h2", {}, "That did not work"), problem(error));
    } finally {
      if (!signal.aborted) results.classList.remove("busy");
    }
  }

  function welcome() {
    shownCommand.replaceChildren();
    said.textContent = "";
    results.replaceChildren(h("p", { class: "card empty" }, stats.items
      ? "Matches appear here, the most similar first." : "The index is empty. Add the first item with “Add if new”."));
  }

  function show() {
    if (!state.matches.length) {
      results.replaceChildren(h("h2", {}, "No matches"), h("p", { class: "card empty" }, "Nothing in the index is that similar."));
      return;
    }
    const title = state.matches.length === 1 ? "1 match" : `${state.matches.length} matches`;
    results.replaceChildren(h("h2", {}, title), h("ol", { class: "matches" }, state.matches.map((one) => h("li", {}, card(one)))));
  }

  function card(match) {
    const value = match[stats.kind.column];
    const fill = h("i");
    fill.style.width = `${stats.kind.column === "distance" || value > 1 ? 0 : 100 * value}%`;
    return h("button", { type: "button", class: "match", "aria-pressed": "false", onclick: (event) => compare(match, event.currentTarget) },
      h("span", { class: "value" }, similarity(value)), h("span", { class: "name" }, String(match.id)),
      h("span", { class: "bar", "aria-hidden": "true" }, fill), h("span", { class: "snippet" }, match.text?.slice(0, 300) ?? ""));
  }

  async function compare(match, button) {
    for (const other of results.querySelectorAll(".match")) other.setAttribute("aria-pressed", String(other === button));
    const signal = newComparison();
    try {
      await (stats.kind.holds === "vectors" || stats.kind.holds === "bits" ? showStored : showCompared)(match, signal);
    } catch (error) {
      if (signal.aborted) return;
      details.replaceChildren(problem(error));
    }
    details.scrollIntoView({ block: "nearest" });
  }

  async function showCompared(match, signal) {
    const body = { left: state.asked, right: { id: match.id } };
    const found = await call("POST", "/v1/compare", body, signal);
    const parts = [["shared", found.shared, "var(--mark-line)"], ["only on the left", found.left_only, "var(--left)"], ["only on the right", found.right_only, "var(--right)"]];
    details.replaceChildren(h("div", { class: "card" }, h("h2", { id: "compared", tabindex: "-1" }, `Similarity ${similarity(found.similarity)}`),
      split(parts.map(([name, value, color]) => ({ name, value, color }))),
      h("p", { class: "legend" }, parts.map(([name, value]) => h("span", {}, h("b", {}, count(value)), ` shingles ${name}`))),
      h("div", { class: "sides" }, side("Your text", state.asked, found.left_shared),
        side(String(match.id), match.text, found.right_shared, "The index keeps the set of this item, not its text. Create it with --store text to see texts here.")),
      command(curl("POST", "/v1/compare", body))));
  }

  async function showStored(match, signal) {
    const path = `/v1/items?id=${encodeURIComponent(match.id)}`;
    const found = await call("GET", path, undefined, signal);
    details.replaceChildren(h("div", { class: "card" }, h("h2", {}, `${stats.kind.column[0].toUpperCase()}${stats.kind.column.slice(1)} ${similarity(match[stats.kind.column])}`),
      h("div", { class: "sides" }, side("Yours", text.value), side(String(match.id), found.bits ?? JSON.stringify(found.vector))), command(curl("GET", path))));
  }

  async function addIfNew() {
    try {
      const body = itemOf(text.value, stats.kind.holds);
      if (id.value.trim()) body.id = id.value.trim();
      const path = "/v1/items?if_new=true";
      shownCommand.replaceChildren(command(curl("POST", path, body)));
      const answer = await call("POST", path, body);
      said.className = answer.added ? "note good" : "note";
      said.textContent = answer.added ? `Added as ${answer.id}.`
        : `Not added: ${answer.match} has ${stats.kind.column} ${similarity(answer[stats.kind.column])}.`;
    } catch (error) {
      said.className = "note bad";
      said.textContent = error.message;
    }
  }

  text.addEventListener("dragover", (event) => { event.preventDefault(); text.classList.add("drop"); });
  text.addEventListener("dragleave", () => text.classList.remove("drop"));
  text.addEventListener("drop", async (event) => {
    event.preventDefault();
    text.classList.remove("drop");
    const file = event.dataTransfer.files[0];
    text.value = file ? await file.text() : event.dataTransfer.getData("text");
    if (file) id.value ||= file.name;
    ask();
  });
  text.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(); });
  const file = h("input", { type: "file", id: "file", hidden: true, onchange: async () => {
    const chosen = file.files[0];
    if (chosen) { text.value = await chosen.text(); id.value ||= chosen.name; ask(); }
  } });

  welcome();
  return [h("h1", {}, "Have I seen this before?"),
    h("div", { class: "card" }, h("label", { for: "text" }, stats.kind.holds === "vectors" ? "Vector" : stats.kind.holds === "bits" ? "Bits" : "Text"), text,
      h("div", { class: "controls" }, limit.element,
        h("div", { class: "small" }, h("label", { for: "k" }, "At most"), many),
        h("div", { class: "field" }, h("label", { for: "new-id" }, "Id, to add it"), id),
        h("p", { class: "actions" }, h("button", { type: "button", class: "primary", onclick: () => ask() }, "Ask"), add,
          h("button", { type: "button", onclick: () => file.click() }, "Open a file"), file)),
      said, shownCommand),
    results, details];
}
