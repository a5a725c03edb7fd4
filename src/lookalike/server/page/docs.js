// /docs: the OpenAPI description as a page, without anything from elsewhere.

import { curl, peek, ROOT } from "./api.js";
import { command, h, withCode } from "./dom.js";
import { showTop } from "./top.js";

const place = document.getElementById("docs");

function resolve(schema, document_) {
  if (!schema?.$ref) return schema;
  return schema.$ref.split("/").slice(1).reduce((found, name) => found[name], document_);
}

function fields(schema, document_) {
  const found = resolve(schema, document_);
  const one = found?.oneOf ? resolve(found.oneOf[0], document_) : found;
  const rows = Object.entries(one?.properties ?? {});
  if (!rows.length) return null;
  return h("table", {}, h("tbody", {}, rows.map(([name, about]) => h("tr", {}, h("th", { scope: "row", class: "mono" }, name), h("td", {}, type(about)), h("td", {}, withCode(about.description ?? ""))))));
}

function type(about) {
  const parts = about.anyOf ?? [about];
  return [...new Set(parts.map((one) => (one.type === "array" ? "list" : one.type ?? "object")))].join(" or ");
}

function route(path, method, about, document_) {
  const body = about.requestBody?.content?.["application/json"]?.schema;
  const answer = about.responses?.["200"]?.content?.["application/json"]?.schema;
  const example = body && (body.oneOf?.[0] ?? body).examples?.[0];
  const codes = Object.keys(about.responses ?? {}).join(", ");
  return h("div", { class: "card" }, h("h2", {}, h("span", { class: "method" }, method.toUpperCase()), h("code", {}, path)),
    h("p", {}, withCode(about.description ?? about.summary ?? "")),
    body ? [h("h3", {}, "Body"), fields(body, document_)] : null, answer ? [h("h3", {}, "Answer"), fields(answer, document_)] : null,
    h("p", { class: "note" }, `Status codes: ${codes}`), method === "get" || example ? command(curl(method.toUpperCase(), path, example)) : null);
}

peek("/v1/stats").then((stats) => { if (stats) showTop(stats); });
const document_ = await (await fetch(`${ROOT}/openapi.json`)).json();
place.append(h("p", { class: "lead" }, withCode(document_.info.description)), h("p", {}, h("a", { href: `${ROOT}/openapi.json` }, "openapi.json")),
  ...Object.entries(document_.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, about]) => route(path, method, about, document_))));
