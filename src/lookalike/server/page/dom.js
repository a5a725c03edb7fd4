// Small helpers: elements, numbers, texts with marked passages.

export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const count = (number) => (number ?? 0).toLocaleString("en");

export function size(bytes) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let power = 0;
  while (bytes >= 1000 && power < units.length - 1) { bytes /= 1000; power += 1; }
  return `${power ? bytes.toFixed(1) : bytes} ${units[power]}`;
}

// 1 only if it is exactly 1: 0.9999 must not look like equality
export function similarity(value) {
  if (value === null || value === undefined) return "none";
  if (!Number.isInteger(value) && value < 1 && value > 0.9994) return value.toFixed(6);
  return Number.isInteger(value) ? String(value) : value.toFixed(3);
}

export function marked(title, text, spans) {
  const characters = Array.from(text);
  const parts = [];
  let at = 0;
  for (const [start, end] of spans ?? []) {
    if (start > at) parts.push(characters.slice(at, start).join(""));
    parts.push(h("mark", {}, characters.slice(start, end).join("")));
    at = end;
  }
  parts.push(characters.slice(at).join(""));
  return h("div", { class: "text", tabindex: "0", role: "group", "aria-label": `Text of ${title}` }, parts);
}

// What is between the shared passages of a text, if it contains a letter or a digit.
export function unshared(text, shared) {
  if (!text || !shared?.length) return [];
  const characters = Array.from(text);
  const found = [];
  let at = 0;
  for (const [start, end] of [...shared, [characters.length, characters.length]]) {
    const between = characters.slice(at, start).join("");
    if (/[\p{L}\p{N}]/u.test(between)) found.push([at + Array.from(between.match(/^\s*/)[0]).length, start - Array.from(between.match(/\s*$/)[0]).length]);
    at = end;
  }
  return found;
}

// Scroll both texts of a pair to the first passage that is marked; a text without any goes where the other is.
export function scrollToMarks(pair) {
  const boxes = [...pair.querySelectorAll(".text")];
  const places = boxes.map((box) => {
    const first = box.querySelector("mark");
    return first ? Math.max(0, first.offsetTop - box.offsetTop - box.clientHeight / 3) : null;
  });
  boxes.forEach((box, at) => { box.scrollTop = places[at] ?? Math.max(0, ...places); });
}

// Text in which `names` are set as code.
export const withCode = (text) => text.split("`").map((part, at) => (at % 2 ? h("code", {}, part) : part));

export function side(title, text, spans, missing, heading = "h3") {
  const body = text === null || text === undefined ? h("p", { class: "note" }, missing) : marked(title, text, spans);
  return h("div", { class: "side" }, h(heading, {}, title), body);
}

export function command(lines) {
  const text = Array.isArray(lines) ? lines.join("\n") : lines;
  const copy = h("button", { type: "button", onclick: async () => {
    await navigator.clipboard?.writeText(text);
    copy.textContent = "Copied";
  } }, "Copy");
  return h("details", { class: "command" }, h("summary", {}, "The same with curl"), h("pre", { tabindex: "0" }, text), copy);
}

export const problem = (error) => h("p", { class: "bad", role: "alert" }, error.message);
