// The operator's API. The token goes into a header, never into an address.

const key = "parley-operator-token";
let token = sessionStorage.getItem(key) || "";

export const hasToken = () => token !== "";

export function remember(t) {
  token = t;
  sessionStorage.setItem(key, t);
}

export function forget() {
  token = "";
  sessionStorage.removeItem(key);
}

export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function ask(method, path, { body, signal } = {}) {
  const headers = { Authorization: "Bearer " + token };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {
    method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer",
  });
  if (!answer.ok) {
    let text = "status " + answer.status;
    try {
      text = (await answer.json()).error;
    } catch { /* it has no words */ }
    throw new Refused(answer.status, text);
  }
  return answer;
}

// call returns what the API answers, null if that is nothing.
export async function call(method, path, body, signal) {
  const answer = await ask(method, path, { body, signal });
  return answer.status === 204 ? null : answer.json();
}

export const get = (path, signal) => call("GET", path, undefined, signal);

export const room = (name) => "/v1/rooms/" + encodeURIComponent(name);

// stream reads server-sent events until they end. EventSource could not send the token.
export async function stream(path, signal, begun, take) {
  const answer = await ask("GET", path, { signal });
  begun();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let parts = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    let from = 0;
    if (parts.length > 0 && parts[parts.length - 1].endsWith("\n") && value.startsWith("\n")) { // an end in two pieces
      give(parts.join(""), take);
      parts = [];
      from = 1;
    }
    for (let at; (at = value.indexOf("\n\n", from)) >= 0; from = at + 2) {
      parts.push(value.slice(from, at));
      give(parts.join(""), take);
      parts = [];
    }
    if (from < value.length) parts.push(value.slice(from));
  }
}

function give(text, take) {
  let event = "message", data = "";
  for (const line of text.split("\n")) {
    if (line.startsWith("event: ")) event = line.slice(7);
    else if (line.startsWith("data: ")) data += line.slice(6);
  }
  if (data) take(event, JSON.parse(data));
}
