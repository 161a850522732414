// All bans. They are asked for when they are shown, and when one has changed.

import * as actions from "./actions.js";
import { get } from "./api.js";
import { clip, el, set, toast } from "./dom.js";
import { count } from "./format.js";

const most = 500;
let list, found, search, all = [];

async function load() {
  try {
    all = (await get("/v1/bans")).bans;
    fill();
  } catch (why) {
    toast(why.message, true);
  }
}

function fill() {
  const words = search.value.trim().toLowerCase();
  const fit = all.filter((b) => ((b.address || "") + "\n" + (b.account || "") + "\n" + (b.reason || "")).toLowerCase().includes(words));
  set(found, count(fit.length) + (fit.length === 1 ? " ban" : " bans") + (fit.length > most ? `, ${most} shown` : ""));
  list.replaceChildren(...fit.slice(0, most).map((b) => el("tr", { data: { ban: b.address || b.account } },
    el("td", {}, el("bdi", { className: "name" }, clip(b.address || b.account))),
    el("td", {}, b.address ? "address" : "account"),
    el("td", {}, b.until ? new Date(b.until).toLocaleString("en-GB") : "for ever"),
    el("td", { className: "wide" }, el("bdi", {}, clip(b.reason || "–", 255))),
    el("td", {}, el("button", { type: "button", data: { action: "lift" }, "aria-label": "Lift the ban of " + clip(b.address || b.account), onclick: () => actions.lift(b, load) }, "Lift…")))));
}

export const bans = {
  build(section) {
    search = el("input", { id: "bans-search", type: "search", placeholder: "Search bans", "aria-label": "Search bans", autocomplete: "off", spellcheck: false, oninput: fill });
    found = el("span", { id: "bans-found", className: "soft", role: "status" });
    list = el("tbody", { id: "bans-list" });
    section.append(
      el("div", { className: "bar" }, el("button", { type: "button", id: "ban-new", className: "primary", onclick: () => actions.ban(null, load) }, "Ban…"), search, found),
      el("div", { className: "scroll" }, el("table", {},
        el("thead", {}, el("tr", {}, ...["Banned", "What", "Until", "Reason", ""].map((t) => el("th", { scope: "col" }, t)))), list)));
  },
  show: load,
  hide() {},
  draw() {},
  reset() {
    all = [];
    search.value = "";
    list.replaceChildren();
    set(found, "");
  },
};
