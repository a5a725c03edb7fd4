// Requests to the server that this page came from, and the curl commands that do the same.

const KEY = "lookalike-key";

// The path under which a proxy offers the server: this file is at ROOT/page/api.js.
export const ROOT = new URL("..", import.meta.url).pathname.replace(/\/$/, "");

let asking = null;

// Whether a key was given. Requests that need one at the same time ask once; Escape gives none.
function askForKey() {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("key-dialog");
    const input = document.getElementById("key-input");
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      const given = dialog.returnValue === "use" && input.value.trim() !== "";
      if (given) sessionStorage.setItem(KEY, input.value.trim());
      input.value = "";
      asking = null;
      resolve(given);
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

// Makes signals for requests of which only the latest counts: each signal aborts the request before it.
export function latest() {
  let running = null;
  return () => {
    running?.abort();
    running = new AbortController();
    return running.signal;
  };
}

function headers(body) {
  const found = {};
  if (body !== undefined) found["Content-Type"] = "application/json";
  const key = sessionStorage.getItem(KEY);
  if (key) found.Authorization = `Bearer ${key}`;
  return found;
}

export async function call(method, path, body, signal) {
  let answer;
  try {
    answer = await fetch(ROOT + path, { method, headers: headers(body), body: body === undefined ? undefined : JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached. Is it still running?");
  }
  if (answer.status === 401) {
    if (await askForKey()) return call(method, path, body, signal);
    throw new Error("The server needs a key.");
  }
  const text = await answer.text();
  const found = text ? JSON.parse(text) : null;
  if (!answer.ok) {
    const error = new Error(found?.detail ?? `The server answered ${answer.status}.`);
    error.status = answer.status;
    throw error;
  }
  return found;
}

// The same for a page that can do without the answer: null if there is none.
export async function peek(path) {
  try {
    const answer = await fetch(ROOT + path, { headers: headers() });
    return answer.ok ? await answer.json() : null;
  } catch { return null; }
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function curl(method, path, body) {
  const parts = ["curl"];
  if (method !== "GET" && !(method === "POST" && body !== undefined)) parts.push("-X", method);
  parts.push(quoted(location.origin + ROOT + path));
  if (sessionStorage.getItem(KEY)) parts.push("-H", '"Authorization: Bearer $KEY"');
  if (body !== undefined) parts.push("-H", quoted("Content-Type: application/json"), "-d", quoted(JSON.stringify(body)));
  return parts.join(" ");
}

export const withId = (path, id) => `${path}?id=${encodeURIComponent(id)}`;
