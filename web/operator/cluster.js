// The cluster that the server is in: its nodes, and its rooms with the nodes that run them. It is asked for while it is shown.

import * as actions from "./actions.js";
import { Refused, get } from "./api.js";
import { clip, el, name, set } from "./dom.js";
import { count, ms } from "./format.js";

const each = 2000, most = 200;
let nodes, rooms, found, search, trouble, all = null, asking = null, timer = 0;

async function look(signal) {
  try {
    if (!document.hidden) {
      all = await get("/v1/cluster", signal);
      set(trouble, "");
      fill();
    }
  } catch (why) {
    if (signal.aborted) return;
    set(trouble, clip(why.message, 300));
    if (why instanceof Refused && why.status === 401) return;
  }
  if (!signal.aborted) timer = setTimeout(() => look(signal), each);
}

const called = (id) => {
  const n = all.nodes.find((n) => n.node === id);
  return n && n.name || id;
};

function state(n) {
  if (n.silent) return "silent";
  if (n.draining) return "draining";
  if (n.waits) return "waits";
  return n.here ? "here" : "lives";
}

function fill() {
  nodes.replaceChildren(...all.nodes.map((n) => el("tr", { data: { node: n.name || n.node } },
    el("td", {}, name(n.name || n.node), n.waits ? el("p", { className: "soft" }, clip(n.waits, 300)) : ""),
    el("td", { data: { state: state(n) } }, state(n)),
    el("td", {}, count(n.players)), el("td", {}, count(n.rooms)), el("td", {}, Math.round(100 * n.cpu) + " %"),
    el("td", {}, clip(n.version)), el("td", { className: "soft" }, clip(n.fingerprint, 17)),
    el("td", {}, el("button", { type: "button", className: "danger", disabled: n.draining, data: { action: "drain" }, "aria-label": "Drain " + clip(n.name || n.node), onclick: () => actions.drain(n) }, "Drain…")))));
  const words = search.value.trim().toLowerCase();
  const fit = all.rooms.filter((r) => r.room.includes(words));
  set(found, count(fit.length) + (fit.length === 1 ? " room" : " rooms") + (fit.length > most ? `, ${most} shown` : ""));
  rooms.replaceChildren(...fit.slice(0, most).flatMap(rows));
}

// rows are a room: one row for each node that runs it.
function rows(r) {
  const list = r.stages.map((s, i) => el("tr", { data: { room: r.room, stage: called(s.node) } },
    el("td", {}, i === 0 ? el("bdi", { className: "name" }, clip(r.room)) : ""),
    el("td", {}, name(called(s.node)), s.node === r.sequencer ? " makes the entries" : ""),
    el("td", {}, s.stuck ? "–" : count(s.tick)), el("td", {}, s.stuck ? "–" : `${count(s.lag)}, ${ms(s.lag_ms)}`),
    el("td", {}, count(s.refused)), el("td", {}, count(s.diverged)),
    el("td", { className: s.differs ? "error" : "soft", data: { differs: s.differs } }, s.stuck ? "does not answer" : (s.differs ? "differs: " : "") + clip(s.hash, 17)),
    el("td", {}, i === 0 ? el("button", { type: "button", data: { action: "move" }, "aria-label": "Move " + r.room, onclick: () => actions.move(r, all.nodes, called(r.sequencer)) }, "Move…") : "")));
  if (!r.sequencer && r.awake) list.push(el("tr", { data: { room: r.room } }, el("td", { colSpan: 8, className: "error" }, `${clip(r.room)} stands still: no node makes its entries`)));
  return list;
}

const table = (heads, body) => el("div", { className: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads.map((t) => el("th", { scope: "col" }, t)))), body));

export const cluster = {
  build(section) {
    trouble = el("p", { className: "error", role: "status" });
    nodes = el("tbody", { id: "cluster-nodes" });
    rooms = el("tbody", { id: "cluster-rooms" });
    search = el("input", { id: "cluster-search", type: "search", placeholder: "Search rooms", "aria-label": "Search rooms of the cluster", autocomplete: "off", spellcheck: false, oninput: () => { if (all) fill(); } });
    found = el("span", { id: "cluster-found", className: "soft", role: "status" });
    section.append(trouble, table(["Node", "State", "Players", "Rooms", "CPU", "Version", "Schema", ""], nodes),
      el("div", { className: "bar" }, search, found), table(["Room", "Node", "Tick", "Lag", "Refused", "Desyncs", "State", ""], rooms));
  },
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
  draw() {},
  reset() {
    this.hide();
    all = null;
    search.value = "";
    nodes.replaceChildren();
    rooms.replaceChildren();
    set(found, "");
    set(trouble, "");
  },
};
