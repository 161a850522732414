// What an operator wants to know first: figures, charts, where the dialects listen, and the newest lines of the log.

import { Chart } from "./chart.js";
import { clip, el, set } from "./dom.js";
import { bytes, count, ms, perSecond } from "./format.js";
import { row } from "./log.js";
import { store } from "./store.js";

const tiles = [
  ["players", "Players", (l) => count(l.players), (l) => count(l.away) + " away"],
  ["rooms", "Rooms", (l) => count(l.rooms), () => count([...store.rooms.values()].filter((r) => r.state === "awake").length) + " awake"],
  ["tick", "Tick p99", (l) => ms(l.point.tick_p99_ms), (l) => "p50 " + ms(l.point.tick_p50_ms)],
  ["late", "Late ticks", (l) => perSecond(l.point.late), (l) => "of " + perSecond(l.point.ticks)],
  ["in", "In", (l) => bytes(l.point.bytes_in) + "/s", (l) => perSecond(l.point.datagrams_in) + " datagrams"],
  ["out", "Out", (l) => bytes(l.point.bytes_out) + "/s", (l) => perSecond(l.point.datagrams_out) + " datagrams"],
];

let figures, charts, addresses, lines, told = null, last = -1;

export const overview = {
  build(section) {
    figures = tiles.map(([id, label]) => {
      const value = el("b", { id: "tile-" + id }), more = el("small");
      return { value, more, node: el("div", { className: "tile" }, el("span", {}, label), value, more) };
    });
    charts = [
      new Chart("ticks", "Tick time", ms, [{ label: "p99", of: (p) => p.tick_p99_ms, colour: "c1" }, { label: "p50", of: (p) => p.tick_p50_ms, colour: "c2" }]),
      new Chart("bytes", "Payload", (n) => bytes(n) + "/s", [{ label: "out", of: (p) => p.bytes_out, colour: "c1" }, { label: "in", of: (p) => p.bytes_in, colour: "c2" }]),
      new Chart("datagrams", "Datagrams", perSecond, [{ label: "out", of: (p) => p.datagrams_out, colour: "c1" }, { label: "in", of: (p) => p.datagrams_in, colour: "c2" }]),
      new Chart("players", "Players", count, [{ label: "now", of: (p) => p.players, colour: "c1" }]),
      new Chart("requests", "Requests of players", perSecond, [{ label: "now", of: (p) => p.requests, colour: "c1" }]),
      new Chart("late", "Late ticks", perSecond, [{ label: "now", of: (p) => p.late, colour: "c3" }]),
    ];
    addresses = el("ul", { id: "addresses", className: "chips" });
    lines = el("ol", { id: "overview-log", className: "log" });
    section.append(
      el("div", { className: "tiles" }, ...figures.map((f) => f.node)),
      el("div", { className: "charts" }, ...charts.map((c) => c.node)),
      el("h2", {}, "Listens at"), addresses,
      el("h2", {}, "Newest lines of the log"), lines);
  },
  show() {},
  hide() {},
  reset() {
    told = null;
    last = -1;
    addresses.replaceChildren();
    lines.replaceChildren();
    for (const f of figures) {
      set(f.value, "");
      set(f.more, "");
    }
  },
  draw() {
    const { live, points, server } = store;
    tiles.forEach(([, , value, more], i) => {
      set(figures[i].value, value(live));
      set(figures[i].more, more(live));
    });
    for (const c of charts) c.draw(points);
    if (server && told !== server) {
      told = server;
      const at = new Map(); // browsers reach all dialects at one address
      for (const a of server.addresses) {
        const key = a.carrier + " " + a.address;
        if (at.has(key)) at.get(key).dialects += ", " + a.dialect;
        else at.set(key, { ...a, dialects: a.dialect });
      }
      addresses.replaceChildren(...[...at.values()].map((a) => el("li", {}, `${clip(a.dialects)}/${clip(a.carrier)} `, el("code", {}, clip(a.address)))));
    }
    if (last !== store.logged) {
      last = store.logged;
      lines.replaceChildren(...store.log.slice(-8).reverse().map(row));
    }
  },
};
