// Review: the clusters or links of a finished run, with decisions.

import { call, curl, latest } from "./api.js";
import { command, count, h, problem, scrollToMarks, side, similarity, unshared } from "./dom.js";

const DECISIONS = [["keep", "Keep"], ["remove", "Remove"], ["unsure", "Unsure"]];
const PAGE = 20;

export async function reviewView() {
  const about = await call("GET", "/v1/review");
  const list = h("ul", { class: "groups", "aria-label": "Groups" });
  const shown = h("section", { id: "group", "aria-live": "polite", "aria-label": "Group" }, h("p", { class: "card empty" }, `Choose a ${about.kind === "dedup" ? "cluster" : "link"} to look at.`));
  const more = h("button", { type: "button", onclick: () => load(list.children.length) }, "More");
  const sort = h("select", { id: "sort", onchange: () => load(0) }, h("option", { value: "doubt" }, "Most doubtful first"), h("option", { value: "size" }, "Largest first"));
  const source = h("select", { id: "source", onchange: () => load(0) }, h("option", { value: "" }, "All sources"),
    about.sources.map((one) => h("option", { value: one }, one.split("/").pop())));
  const listCommand = h("div");
  const newList = latest(), newGroup = latest();

  async function load(from) {
    const filter = source.value ? `&source=${encodeURIComponent(source.value)}` : "";
    const path = `/v1/review/groups?sort=${sort.value}&from=${from}&count=${PAGE}${filter}`;
    const signal = newList();
    try {
      const found = await call("GET", path, undefined, signal);
      if (!from) list.replaceChildren();
      list.append(...found.groups.map(line));
      more.hidden = list.children.length >= found.total;
      if (!found.total) list.replaceChildren(h("li", { class: "empty" }, "Nothing to review."));
      listCommand.replaceChildren(command(curl("GET", path)));
    } catch (error) { if (!signal.aborted) list.replaceChildren(h("li", {}, problem(error))); }
  }

  function line(group) {
    const range = group.lowest === group.highest ? similarity(group.lowest) : `${similarity(group.lowest)} to ${similarity(group.highest)}`;
    const button = h("button", { type: "button", "aria-pressed": "false", onclick: () => {
      for (const other of list.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
      open(group.group);
    } }, h("span", {}, group.title), h("small", {}, `${count(group.size)} items, ${range}${group.decided ? `, ${group.decided} decided` : ""}`));
    return h("li", {}, button);
  }

  async function open(number, from = 0) {
    const path = `/v1/review/groups/${number}?from=${from}&count=${PAGE}`;
    const signal = newGroup();
    try {
      const found = await call("GET", path, undefined, signal);
      const parts = [h("h2", { id: "group-title" }, found.title), found.problem ? h("p", { class: "bad" }, found.problem) : null];
      if (found.keeper) parts.push(h("p", { class: "note" }, `Kept, from ${found.keeper.file}`), decide(number, -1, found.keeper.decision));
      parts.push(...found.members.map((member) => (member.fields ? link(number, member) : pair(number, found, member))));
      if (from + found.members.length < found.size - 1) parts.push(h("button", { type: "button", onclick: () => open(number, from + PAGE) }, "Next items"));
      parts.push(command(curl("GET", path)));
      shown.replaceChildren(h("div", { class: "card" }, parts.filter(Boolean)));
      for (const one of shown.querySelectorAll(".sides")) scrollToMarks(one);
    } catch (error) { if (!signal.aborted) shown.replaceChildren(problem(error)); }
  }

  const missing = "The text cannot be read: the input has changed, or is no longer there.";

  const begun = (item) => (item.cut ? " (the beginning)" : "");

  function pair(number, group, member) {
    const [kept, removed] = [unshared(group.keeper.text, member.left_shared), unshared(member.text, member.right_shared)];
    const equal = member.left_shared.length && !kept.length && !removed.length ? " The words are equal." : "";
    return h("div", { class: "route" }, h("h3", {}, `${similarity(member[group.value])} — ${member.id}`),
      h("p", { class: "note" }, `Removed, from ${member.file}. Marked is what only one of the two has.${equal}`),
      h("div", { class: "sides" }, side(`Kept: ${group.keeper.id}${begun(group.keeper)}`, group.keeper.text, kept, missing), side(`Removed: ${member.id}${begun(member)}`, member.text, removed, missing)),
      decide(number, member.row, member.decision));
  }

  function link(number, member) {
    const cells = (row, name = "td") => h("tr", {}, row.map((one) => h(name, name === "th" ? { scope: "col" } : {}, String(one ?? ""))));
    const rows = member.fields.map((one) => cells([one.field, one.left, one.right, one.agreement, one.weight?.toFixed(1)]));
    const value = member.probability === null ? `Score ${member.score.toFixed(1)}` : `Probability ${similarity(member.probability)}`;
    const from = member.left_file ? `, from ${member.left_file}${member.right_file === member.left_file ? "" : ` and ${member.right_file}`}` : "";
    return h("div", {}, h("p", { class: "note" }, value + from), h("table", {}, h("thead", {}, cells(["Field", String(member.left), String(member.right), "Agreement", "Weight"], "th")), h("tbody", {}, rows)),
      decide(number, member.row, member.decision));
  }

  function decide(group, row, current) {
    const place = h("div");
    const buttons = DECISIONS.map(([value, name]) => h("button", { type: "button", "aria-pressed": String(current === value), "data-value": value, onclick: async (event) => {
      const pressed = event.currentTarget.getAttribute("aria-pressed") === "true";
      const body = { group, row, decision: pressed ? null : value };
      try {
        await call("POST", "/v1/review/decisions", body);
        for (const other of buttons) other.setAttribute("aria-pressed", String(!pressed && other.dataset.value === value));
        place.replaceChildren(command(curl("POST", "/v1/review/decisions", body)));
      } catch (error) { place.replaceChildren(problem(error)); }
    } }, name));
    return h("div", {}, h("div", { class: "decide", role: "group", "aria-label": "Decision" }, buttons), place);
  }

  await load(0);
  return [h("h1", {}, "Look before you delete"),
    h("p", { class: "lead" }, `${count(about.groups)} ${about.kind === "dedup" ? "clusters" : "links"} of ${about.folder}. Decisions are saved in ${about.decisions_file}; the output itself does not change.`),
    ...about.problems.map((one) => h("p", { class: "bad" }, one)),
    h("div", { class: "review" }, h("div", { class: "card" },
      h("div", { class: "controls" }, h("div", { class: "field" }, h("label", { for: "sort" }, "Order"), sort), about.sources.length > 1 ? h("div", { class: "field" }, h("label", { for: "source" }, "Source"), source) : null),
      h("p", {}), list, h("p", { class: "actions" }, more), listCommand), shown)];
}
