// All rooms, a page of them at a time, with a map of each that is in sight.

import * as actions from "./actions.js";
import { get, room as pathOf } from "./api.js";
import { clip, el, set } from "./dom.js";
import { count, ms } from "./format.js";
import { Picture, dialects } from "./map.js";
import { byRoom, store } from "./store.js";

const onPage = 12;
const collator = new Intl.Collator("en", { numeric: true });

let grid, search, found, page = 0, earlier, later, redraw = () => {}, timer = 0, asking = null;
const cards = new Map(); // by name
const insight = new Set();
const watcher = new IntersectionObserver((list) => {
  for (const e of list) {
    if (e.isIntersecting) insight.add(e.target.dataset.room);
    else insight.delete(e.target.dataset.room);
  }
});

function build(section) {
  search = el("input", { id: "rooms-search", type: "search", placeholder: "Search rooms", "aria-label": "Search rooms", autocomplete: "off", spellcheck: false, oninput: () => { page = 0; redraw(); } });
  found = el("span", { id: "rooms-found", className: "soft", role: "status" });
  earlier = el("button", { type: "button", id: "rooms-earlier", onclick: () => { page--; redraw(); } }, "Earlier");
  later = el("button", { type: "button", id: "rooms-later", onclick: () => { page++; redraw(); } }, "Later");
  grid = el("div", { id: "rooms-grid", className: "cards" });
  section.append(
    el("div", { className: "bar" }, el("button", { type: "button", id: "room-open", className: "primary", onclick: () => actions.open() }, "Open a room…"), search, found, earlier, later),
    el("p", { className: "key" }, ...dialects.map((d) => el("span", { data: { dialect: d } }, d)), el("span", { className: "soft" }, "small dots are other things")),
    grid);
}

function draw() {
  const words = search.value.trim().toLowerCase();
  const all = [...store.rooms.values()].filter((r) => r.name.includes(words) || r.mode.toLowerCase().includes(words));
  all.sort((a, b) => (b.name === "main") - (a.name === "main") || b.players - a.players || collator.compare(a.name, b.name));
  const pages = Math.max(1, Math.ceil(all.length / onPage));
  page = Math.min(Math.max(page, 0), pages - 1);
  earlier.disabled = page === 0;
  later.disabled = page === pages - 1;
  earlier.hidden = later.hidden = pages === 1;
  set(found, count(all.length) + (pages > 1 ? ` rooms, page ${page + 1} of ${pages}` : all.length === 1 ? " room" : " rooms"));
  const shown = all.slice(page * onPage, (page + 1) * onPage), names = new Set(shown.map((r) => r.name));
  for (const [name, c] of cards) {
    if (names.has(name)) continue;
    watcher.unobserve(c.node);
    insight.delete(name);
    c.node.remove();
    cards.delete(name);
  }
  const busy = grid.matches(":hover") || grid.contains(document.activeElement); // cards stay where they are
  shown.forEach((r, i) => {
    let c = cards.get(r.name);
    if (!c) {
      cards.set(r.name, c = newCard(r));
      grid.append(c.node);
      watcher.observe(c.node);
    }
    if (!busy && grid.children[i] !== c.node) grid.insertBefore(c.node, grid.children[i]);
    fill(c, r);
  });
}

function newCard(r) {
  const c = { room: r, state: el("span", { className: "state" }), mode: el("span", { className: "soft" }), facts: {}, canvas: el("canvas", { role: "img" }) };
  c.picture = new Picture(c.canvas);
  const facts = el("dl");
  for (const [id, label] of [["players", "Players"], ["p50", "p50"], ["p99", "p99"], ["late", "Late"], ["tick", "Tick"], ["entry", "Entry"]]) {
    facts.append(el("div", {}, el("dt", {}, label), c.facts[id] = el("dd", { data: { fact: id } })));
  }
  c.close = el("button", { type: "button", className: "danger", data: { action: "close" }, "aria-label": "Close the room " + r.name, onclick: () => actions.close(c.room) }, "Close…");
  c.close.hidden = r.name === "main";
  c.node = el("article", { className: "card", data: { room: r.name }, "aria-label": "Room " + r.name },
    el("h2", {}, el("bdi", { className: "name" }, clip(r.name)), " ", c.state), c.mode, c.canvas, facts,
    el("div", { className: "buttons" }, el("button", { type: "button", data: { action: "say" }, "aria-label": "Say in " + r.name, onclick: () => actions.say(c.room.name) }, "Say…"), c.close));
  return c;
}

function fill(c, r) {
  c.room = r;
  set(c.state, r.state);
  c.state.dataset.state = r.state;
  set(c.mode, (r.mode ? "mode " + clip(r.mode) + ", " : "") + (r.kept ? "on disk" : "not on disk"));
  set(c.facts.players, `${count(r.players)} / ${count(r.max_players)}` + (r.away ? `, ${r.away} away` : ""));
  set(c.facts.p50, r.state === "awake" ? ms(r.lately_p50_ms) : "–");
  set(c.facts.p99, r.state === "awake" ? ms(r.lately_p99_ms) : "–");
  set(c.facts.late, count(r.late));
  set(c.facts.tick, count(r.tick));
  set(c.facts.entry, r.open ? "open" : r.accounts.length ? `${r.accounts.length} accounts` : "by ticket");
}

// look asks for the maps in sight, one after the other, so that a slow server is not asked for more than it answers.
async function look(signal) {
  const players = byRoom();
  for (const name of [...insight]) {
    const c = cards.get(name);
    if (!c || signal.aborted || document.hidden || c.room.state === "asleep" && c.drawn) continue;
    try {
      const map = await get(pathOf(name) + "/map", signal);
      if (signal.aborted) return;
      c.picture.draw(map, players.get(name) || new Map());
      c.drawn = true;
      c.canvas.setAttribute("aria-label", `Map of ${name}: ${map.total} bodies`);
      c.canvas.dataset.bodies = map.total;
    } catch { /* it has just been closed */ }
  }
  if (!signal.aborted) timer = setTimeout(() => look(signal), 1000);
}

export const rooms = {
  build, draw,
  show(again) {
    redraw = again;
    if (asking) return;
    asking = new AbortController();
    timer = setTimeout(() => look(asking.signal), 200);
  },
  hide() {
    if (asking) asking.abort();
    asking = null;
    clearTimeout(timer);
  },
  reset() {
    this.hide();
    for (const c of cards.values()) c.node.remove();
    cards.clear();
    insight.clear();
    page = 0;
    search.value = "";
    set(found, "");
  },
};
