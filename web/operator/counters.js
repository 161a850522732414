// Every counter, named for people. They are asked for while they are shown.

import { get } from "./api.js";
import { clip, el, set } from "./dom.js";
import { count, perSecond } from "./format.js";

const most = 400;
let list, search, part, zeros, found, timer = 0, asking = null, all = [], at = 0;
const before = new Map(), rows = new Map();

const keyOf = (c) => c.metric + "\n" + c.part + "\n" + c.name;

async function look(signal) {
  try {
    const next = (await get("/v1/counters", signal)).counters, now = performance.now();
    if (signal.aborted) return;
    for (const c of next) {
      const was = before.get(keyOf(c));
      c.rate = c.kind !== "gauge" && was !== undefined && c.value >= was ? (c.value - was) / (now - at) * 1000 : null;
      c.low = (c.name + "\n" + c.part + "\n" + c.metric + "\n" + c.help).toLowerCase();
      before.set(keyOf(c), c.value);
    }
    at = now;
    all = next;
    draw();
  } catch { /* the stream says what is wrong */ }
  if (!signal.aborted) timer = setTimeout(() => look(signal), 2000);
}

function draw() {
  const words = search.value.trim().toLowerCase().split(/\s+/), wanted = part.value;
  const fit = all.filter((c) => (zeros.checked || c.value !== 0) && (!wanted || c.part === wanted) && words.every((w) => c.low.includes(w)));
  const shown = fit.slice(0, most);
  set(found, `${count(fit.length)} of ${count(all.length)}` + (fit.length > most ? `, ${most} shown: search` : ""));
  const here = new Set(shown.map(keyOf));
  for (const [key, r] of rows) {
    if (!here.has(key)) {
      r.node.remove();
      rows.delete(key);
    }
  }
  let after = null;
  for (const c of shown) {
    const key = keyOf(c);
    let r = rows.get(key);
    if (!r) rows.set(key, r = newRow(c));
    const place = after ? after.nextSibling : list.firstChild;
    if (place !== r.node) list.insertBefore(r.node, place);
    after = r.node;
    set(r.value, c.text);
    set(r.rate, c.rate === null || c.rate === 0 ? "" : perSecond(c.rate));
  }
}

function newRow(c) {
  const r = { value: el("td", { className: "number" }), rate: el("td", { className: "number soft" }) };
  r.node = el("tr", { data: { metric: c.metric, part: c.part } },
    el("td", { className: "wide" }, el("details", {}, el("summary", {}, clip(c.name, 128)), el("p", { className: "hint" }, c.help + " ", el("code", {}, c.metric)))),
    el("td", {}, clip(c.part)), r.value, r.rate);
  return r;
}

export const counters = {
  build(section) {
    search = el("input", { id: "counters-search", type: "search", placeholder: "Search counters, such as late or dropped", "aria-label": "Search counters", autocomplete: "off", spellcheck: false, oninput: draw });
    part = el("select", { id: "counters-part", "aria-label": "Part", onchange: draw }, ...["", "game", "replica", "stamp", "relay", "duplex", "realm"].map((p) => el("option", { value: p }, p || "all parts")));
    zeros = el("input", { id: "counters-zeros", type: "checkbox", onchange: draw });
    found = el("span", { id: "counters-found", className: "soft", role: "status" });
    list = el("tbody", { id: "counters-list" });
    section.append(el("div", { className: "bar" }, search, part, el("label", { className: "check" }, zeros, "also zeros"), found),
      el("div", { className: "scroll" }, el("table", {},
        el("thead", {}, el("tr", {}, ...["Counter", "Of", "Value", "A second"].map((t) => el("th", { scope: "col" }, t)))), list)));
  },
  draw() {},
  show() {
    if (asking) return;
    asking = new AbortController();
    look(asking.signal);
  },
  hide() {
    if (asking) asking.abort();
    asking = null;
    clearTimeout(timer);
  },
  reset() {
    this.hide();
    all = [];
    before.clear();
    rows.clear();
    list.replaceChildren();
    search.value = "";
    set(found, "");
  },
};
