// All players, in a table of which only the rows in sight are in the document.

import * as actions from "./actions.js";
import { clip, el, set } from "./dom.js";
import { bytes, count, loss, rtt, span } from "./format.js";
import { store } from "./store.js";

// A collator would take a frame for 2,000 players.
const byText = (of) => (a, b) => {
  const x = of(a), y = of(b);
  return x < y ? -1 : x > y ? 1 : 0;
};
const byPlace = byText((p) => p.room);

// columns: id, heading, order, text, whether it changes all the time, title
const columns = [
  ["name", "Name", byText((p) => p.low), (p) => clip(p.name)],
  ["room", "Room", (a, b) => byPlace(a, b) || a.id - b.id, (p) => `${p.room} ${p.id}`],
  ["dialect", "Dialect", byText((p) => p.dialect + p.carrier), (p) => clip(p.dialect ? p.dialect + "/" + p.carrier : "–")],
  ["address", "Address", byText((p) => p.address), (p) => clip(p.address || "–")],
  ["rtt", "Round trip", (a, b) => b.rtt_ms - a.rtt_ms, (p) => rtt(p.rtt_ms), true],
  ["loss", "Loss", (a, b) => b.loss - a.loss, (p) => loss(p.loss), true],
  ["in", "In", (a, b) => b.in - a.in, (p) => bytes(p.in) + "/s", true],
  ["out", "Out", (a, b) => b.out - a.out, (p) => bytes(p.out) + "/s", true],
  ["for", "Here for", (a, b) => a.at - b.at, (p) => span((now - p.at) / 1000)],
  ["state", "State", (a, b) => b.away - a.away, (p) => (p.away ? "away" : "here"), true],
];

let now = 0, body, space, found, search, dialect, heads, redraw = () => {};
let sort = 1, down = false, list = [], stale = true, seen = -1, height = 36;
let before = false; // the pointer or the focus was in the table when the list was made
const rows = new Map(); // by key
const spare = [];
const narrow = matchMedia("(max-width: 760px)");

function build(section) {
  search = el("input", { id: "players-search", type: "search", placeholder: "Search names, rooms, addresses", autocomplete: "off", spellcheck: false, "aria-label": "Search players", oninput: again });
  dialect = el("select", { id: "players-dialect", "aria-label": "Dialect", onchange: again },
    ...["", "replica", "stamp", "relay", "duplex", "realm"].map((d) => el("option", { value: d }, d || "all dialects")));
  const order = el("select", { id: "players-sort", className: "narrow", "aria-label": "Order", onchange: () => { sort = Number(order.value); down = false; mark(); again(); } },
    ...columns.map(([, label], i) => el("option", { value: i, selected: i === sort }, "by " + label.toLowerCase())));
  found = el("span", { id: "players-found", className: "soft", role: "status" });
  heads = columns.map(([id, label], i) => el("span", { role: "columnheader", className: "c-" + id },
    el("button", { type: "button", data: { sort: id }, onclick: () => { down = sort === i && !down; sort = i; order.value = i; mark(); again(); } }, label)));
  const head = el("div", { role: "row", className: "prow phead" }, ...heads, el("span", { role: "columnheader", className: "c-do" }, el("span", { className: "unseen" }, "Actions")));
  space = el("div", { className: "space", role: "rowgroup" });
  body = el("div", { id: "players-body", className: "pbody", tabIndex: 0, role: "presentation", "aria-label": "Players", onscroll: () => redraw() }, space);
  const table = el("div", { id: "players-table", className: "ptable", role: "table", "aria-label": "Players" }, head, body);
  section.append(el("div", { className: "bar" }, search, dialect, order, found), table);
  mark();
  narrow.addEventListener("change", () => { for (const r of rows.values()) r.node.hidden = true; redraw(); });
}

function again() {
  stale = true;
  body.scrollTop = 0;
  redraw();
}

function mark() {
  heads.forEach((h, i) => h.setAttribute("aria-sort", i !== sort ? "none" : down ? "descending" : "ascending"));
}

// choose makes the list. While somebody is about to do something with a row, rows stay where they are: those who are gone leave a gap, and those
// who come are put at the end.
function choose() {
  const still = space.matches(":hover") || space.contains(document.activeElement);
  if (before && !still) stale = true;
  before = still;
  if (still && seen === store.changed) return;
  if (!stale && seen === store.changed && !columns[sort][4]) return;
  const words = search.value.trim().toLowerCase(), wanted = dialect.value;
  const fits = (p) => (!wanted || p.dialect === wanted) && (!words || p.low.includes(words));
  if (still && !stale) {
    const known = new Set(list.map((p) => p.key));
    for (const p of store.players.values()) if (!known.has(p.key) && fits(p)) list.push(p);
    list = list.map((p) => store.players.get(p.key) || { ...p, gone: true });
  } else {
    list = [...store.players.values()].filter(fits);
    const by = columns[sort][2];
    list.sort((a, b) => (down ? by(b, a) : by(a, b)) || a.key - b.key);
    stale = false;
  }
  seen = store.changed;
  set(found, count(list.filter((p) => !p.gone).length) + " of " + count(store.live.players));
  space.style.height = list.length * height + "px";
  body.parentNode.setAttribute("aria-rowcount", list.length + 1);
}

function draw() {
  now = Date.now();
  const tall = narrow.matches ? 84 : 36;
  if (tall !== height) {
    height = tall;
    stale = true;
  }
  choose();
  const first = Math.max(0, Math.floor(body.scrollTop / height) - 6);
  const end = Math.min(list.length, Math.ceil((body.scrollTop + body.clientHeight) / height) + 6);
  const here = new Set();
  for (let i = first; i < end; i++) here.add(list[i].key);
  for (const [key, r] of rows) {
    if (here.has(key) || r.node.contains(document.activeElement)) continue;
    rows.delete(key);
    r.node.hidden = true;
    spare.push(r);
  }
  for (let i = first; i < end; i++) {
    const p = list[i];
    let r = rows.get(p.key);
    if (!r) rows.set(p.key, r = spare.pop() || newRow());
    fill(r, p, i);
  }
}

function newRow() {
  const r = { player: null, top: -1, cells: columns.map(([id]) => el("span", { role: "cell", className: "c-" + id })) };
  r.name = el("bdi", { className: "name" });
  r.cells[0].append(r.name);
  r.kick = el("button", { type: "button", data: { action: "kick" }, onclick: () => actions.kick(r.player) }, "Kick");
  r.ban = el("button", { type: "button", data: { action: "ban" }, onclick: () => actions.ban(r.player) }, "Ban");
  r.node = el("div", { role: "row", className: "prow" }, ...r.cells, el("span", { role: "cell", className: "c-do" }, r.kick, r.ban));
  space.append(r.node);
  return r;
}

function fill(r, p, i) {
  r.node.hidden = false;
  const top = i * height;
  if (r.top !== top) {
    r.top = top;
    r.node.style.transform = `translateY(${top}px)`;
    r.node.setAttribute("aria-rowindex", i + 2);
  }
  if (r.player !== p) {
    r.player = p;
    r.node.dataset.key = p.key;
    r.node.dataset.room = p.room;
    r.node.dataset.player = p.id;
    r.cells[0].title = clip(p.name, 200);
    r.kick.setAttribute("aria-label", "Kick " + clip(p.name));
    r.ban.setAttribute("aria-label", "Ban " + clip(p.name));
  }
  r.node.classList.toggle("away", p.away);
  r.node.classList.toggle("gone", !!p.gone);
  if (p.gone && r.node.contains(document.activeElement)) body.focus(); // a button that cannot be pressed keeps no focus
  r.kick.disabled = r.ban.disabled = !!p.gone;
  set(r.name, columns[0][3](p));
  for (let c = 1; c < columns.length; c++) set(r.cells[c], p.gone && c === 9 ? "gone" : columns[c][3](p));
  r.cells[2].dataset.dialect = p.dialect;
}

export const players = {
  build, draw,
  show(again) { redraw = again; stale = true; },
  hide() {},
  reset() {
    list = [];
    stale = true;
    seen = -1;
    for (const r of rows.values()) r.node.remove();
    for (const r of spare) r.node.remove();
    rows.clear();
    spare.length = 0;
    search.value = "";
    space.style.height = "0";
    set(found, "");
  },
};
