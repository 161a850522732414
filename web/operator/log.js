// The newest lines of the log.

import { call, get } from "./api.js";
import { clip, el, set, toast } from "./dom.js";
import { clock } from "./format.js";
import { store } from "./store.js";

const levels = ["debug", "info", "warn", "error"];
let lines, search, least, level, found, last = "", redraw = () => {};

// row is a line. Its text is of the server's own words and of what players chose.
export function row(l) {
  return el("li", { data: { level: l.level } }, el("time", { dateTime: l.time }, clock(new Date(l.time))), " ", el("span", { className: "level" }, clip(l.level)), " ", el("bdi", {}, clip(l.text, 2000)));
}

function draw() {
  const words = search.value.trim().toLowerCase(), from = levels.indexOf(least.value);
  const key = store.logged + "\n" + words + "\n" + from;
  if (key === last) return;
  last = key;
  const fit = store.log.filter((l) => Math.max(0, levels.indexOf(l.level)) >= from && l.text.toLowerCase().includes(words));
  const shown = fit.slice(-300).reverse();
  set(found, `${shown.length} lines, the newest first`);
  lines.replaceChildren(...shown.map(row));
}

export const log = {
  build(section) {
    search = el("input", { id: "log-search", type: "search", placeholder: "Search the newest lines", "aria-label": "Search the log", autocomplete: "off", spellcheck: false, oninput: () => redraw() });
    least = el("select", { id: "log-least", "aria-label": "Show lines from this level on", onchange: () => redraw() }, ...levels.map((l) => el("option", { value: l }, l === "debug" ? "all levels" : "from " + l + " on")));
    level = el("select", {
      id: "log-level", "aria-label": "The server logs from this level on",
      onchange: async () => {
        try {
          await call("PUT", "/v1/log", { level: level.value });
          toast(`The server logs lines from ${level.value} on, until it ends.`);
        } catch (why) {
          toast(why.message, true);
        }
      },
    }, ...levels.map((l) => el("option", { value: l }, "server logs from " + l)));
    found = el("span", { id: "log-found", className: "soft", role: "status" });
    lines = el("ol", { id: "log-lines", className: "log" });
    section.append(el("div", { className: "bar" }, search, least, level, found), lines);
  },
  draw,
  async show(again) {
    redraw = again;
    last = "";
    try {
      level.value = (await get("/v1/log")).level;
    } catch { /* the stream says what is wrong */ }
  },
  hide() {},
  reset() {
    last = "";
    search.value = "";
    lines.replaceChildren();
    set(found, "");
  },
};
