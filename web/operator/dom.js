// Small pieces of the document. Text that comes from elsewhere only ever becomes textContent.

export const byId = (id) => document.getElementById(id);

// el makes an element. props are properties; those of data and aria are attributes.
export function el(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key === "data") for (const [k, v] of Object.entries(value)) e.dataset[k] = v;
    else if (key.startsWith("aria-") || key === "role" || key === "for" || key === "list") e.setAttribute(key, value);
    else if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else e[key] = value;
  }
  e.append(...children);
  return e;
}

// set changes a text if it is another: what does not change costs no layout.
export function set(e, text) {
  if (e.shown !== text) {
    e.shown = text;
    e.textContent = text;
  }
}

// clip bounds a text that anybody may have chosen, before the browser lays it out.
export function clip(text, most = 64) {
  text = String(text);
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

// name is an element for a name that somebody chose: its direction stays its own.
export const name = (text) => el("bdi", { className: "name" }, clip(text));

let hiding = 0;

// toast says for a moment what has happened.
export function toast(text, bad = false) {
  const t = byId("toast");
  t.textContent = clip(text, 300);
  t.className = bad ? "shown bad" : "shown";
  clearTimeout(hiding);
  hiding = setTimeout(() => { t.className = ""; }, 6000);
}
