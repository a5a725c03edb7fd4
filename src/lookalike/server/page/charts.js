// Charts as SVG, drawn here.

const SVG = "http://www.w3.org/2000/svg";

function s(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export function bars(title, values) {
  // no wider than the screen, so that labels keep their size on a phone
  const width = Math.min(560, document.documentElement.clientWidth - 70), height = 190, left = 8, bottom = 24, top = 22;
  const most = Math.max(1, ...values.map((one) => one.value));
  const step = Math.min(64, (width - 2 * left) / Math.max(values.length, 1));
  const few = step * values.length < width - 2 * left - 1;
  const labels = values.map((one) => one.label).filter(Boolean);
  const every = labels.length > 2 ? Math.ceil(8 * Math.max(...labels.map((one) => one.length)) / step) : 1;
  const chart = s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
  chart.append(s("line", { x1: left, x2: width - left, y1: height - bottom, y2: height - bottom }));
  values.forEach((one, at) => {
    const tall = one.value ? Math.max(2, (height - bottom - top) * one.value / most) : 0;
    const bar = s("rect", { x: left + at * step + step * .08, y: height - bottom - tall, width: Math.max(1, step * .84), height: tall, rx: 2 });
    bar.append(s("title", {}, one.hint));
    chart.append(bar);
    if (one.label && at % every === 0) {
      const anchor = values.length === 1 || (!few && at === 0) ? "start" : !few && at === values.length - 1 ? "end" : "middle";
      const x = anchor === "start" ? left : anchor === "end" ? width - left : left + (at + .5) * step;
      chart.append(s("text", { x, y: height - 7, "text-anchor": anchor }, one.label));
    }
  });
  chart.append(s("text", { x: left, y: 12 }, `highest: ${most.toLocaleString("en")}`));
  return chart;
}

// shared, left only, right only, as one bar
export function split(parts) {
  const total = Math.max(1, parts.reduce((sum, one) => sum + one.value, 0));
  const chart = s("svg", { class: "split", viewBox: "0 0 100 4", preserveAspectRatio: "none", role: "img",
    "aria-label": parts.map((one) => `${one.name}: ${one.value}`).join(", ") });
  let at = 0;
  for (const one of parts) {
    const wide = 100 * one.value / total;
    chart.append(s("rect", { x: at, y: 0, width: wide, height: 4, fill: one.color }));
    at += wide;
  }
  return chart;
}
