// Requests to the server that this page came from, and the curl commands that do the same.

const KEY = "lookalike-key";

function askForKey() {
  const dialog = document.getElementById("key-dialog");
  const input = document.getElementById("key-input");
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      if (input.value) sessionStorage.setItem(KEY, input.value.trim());
      input.value = "";
      resolve();
    }, { once: true });
    if (!dialog.open) dialog.showModal();
  });
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
    answer = await fetch(path, { method, headers: headers(body), body: body === undefined ? undefined : JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server cannot be reached. Is it still running?");
  }
  if (answer.status === 401) {
    await askForKey();
    return call(method, path, body, signal);
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
    const answer = await fetch(path, { headers: headers() });
    return answer.ok ? await answer.json() : null;
  } catch { return null; }
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function curl(method, path, body) {
  const parts = ["curl"];
  if (method !== "GET" && !(method === "POST" && body !== undefined)) parts.push("-X", method);
  parts.push(quoted(location.origin + path));
  if (sessionStorage.getItem(KEY)) parts.push("-H", '"Authorization: Bearer $KEY"');
  if (body !== undefined) parts.push("-H", quoted("Content-Type: application/json"), "-d", quoted(JSON.stringify(body)));
  return parts.join(" ");
}

export const withId = (path, id) => `${path}?id=${encodeURIComponent(id)}`;
