// The operator's page: the token, the stream, and which view is shown.

import * as actions from "./actions.js";
import { Refused, forget, get, hasToken, remember, stream } from "./api.js";
import { bans } from "./bans.js";
import { cluster } from "./cluster.js";
import { counters } from "./counters.js";
import { byId, clip, set } from "./dom.js";
import { count } from "./format.js";
import { log } from "./log.js";
import { overview } from "./overview.js";
import { players } from "./players.js";
import { rooms } from "./rooms.js";
import { clear, store, take, takeHistory } from "./store.js";

const views = { overview, players, rooms, bans, cluster, log, counters };
let shown = "";
let run = null; // aborts what goes on with this token
let drawing = false;

// A token may come behind #token=, which no browser sends to a server. It does not stay in the address.
function fragmentToken() {
  const found = /^#token=([0-9a-fA-F]+)$/.exec(location.hash);
  if (location.hash.startsWith("#token=")) history.replaceState(null, "", location.pathname);
  return found ? found[1] : "";
}

function login(error = "") {
  if (run) run.abort();
  run = null;
  forget();
  clear();
  byId("dialog").close();
  byId("app").hidden = true;
  byId("login").hidden = false;
  for (const v of Object.values(views)) v.reset();
  for (const id of ["server-name", "server-version", "count-players", "count-rooms", "trouble"]) set(byId(id), "");
  document.title = "parley";
  byId("login-error").textContent = error;
  byId("token").value = "";
  byId("token").focus();
}

async function start() {
  run = new AbortController();
  const { signal } = run;
  byId("login").hidden = true;
  byId("app").hidden = false;
  route();
  for (let wait = 500; !signal.aborted; wait = Math.min(wait * 2, 8000)) {
    try {
      link("connecting");
      await stream("/v1/live", signal, () => {
        wait = 500;
        greet(signal);
      }, (event, data) => {
        if (event !== "live" || signal.aborted) return;
        const began = performance.now();
        take(data);
        link(data.trouble ? "trouble" : "live");
        draw();
        spent(began);
      });
    } catch (why) {
      if (signal.aborted) return;
      if (why instanceof Refused && why.status === 401) return login("The server does not take this token.");
      if (why instanceof Refused) set(byId("trouble"), clip(why.message, 300));
    }
    if (signal.aborted) return;
    link("lost");
    await new Promise((r) => setTimeout(r, wait));
  }
}

// greet asks for what the stream does not have.
async function greet(signal) {
  try {
    const [server, history] = await Promise.all([get("/v1/server", signal), get("/v1/history", signal)]);
    store.server = server;
    takeHistory(history.points);
    set(byId("server-name"), clip(server.name));
    byId("nav-cluster").hidden = !server.cluster;
    set(byId("server-version"), clip(server.version + " on " + server.node));
    document.title = clip(server.name) + " – parley";
    draw();
  } catch { /* the stream says what is wrong */ }
}

const words = { connecting: "connecting", live: "live", trouble: "trouble", lost: "no connection; trying again" };

function link(state) {
  const l = byId("link");
  if (l.dataset.state === state) return;
  l.dataset.state = state;
  l.textContent = words[state];
}

// draw shows what is new, at most once a frame.
function draw() {
  if (drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    const began = performance.now();
    const { live } = store;
    if (live) {
      set(byId("count-players"), count(live.players));
      set(byId("count-rooms"), count(live.rooms));
      const t = byId("trouble");
      t.hidden = !live.trouble;
      set(t, clip(live.trouble || "", 500));
      views[shown].draw();
    }
    spent(began);
  });
}

// spent notes how long scripts keep a frame, for tests.
const took = (window.parleyFrames = []);
function spent(began) {
  took.push(performance.now() - began);
  if (took.length > 1000) took.shift();
}

function route() {
  const wanted = location.hash.slice(1);
  const next = Object.hasOwn(views, wanted) ? wanted : "overview";
  if (next !== shown && shown) views[shown].hide();
  for (const v of Object.keys(views)) byId("view-" + v).hidden = v !== next;
  for (const a of document.querySelectorAll("nav a")) {
    if (a.dataset.view === next) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
  shown = next;
  views[next].show(draw);
  draw();
}

for (const [key, v] of Object.entries(views)) v.build(byId("view-" + key));
byId("login-form").addEventListener("submit", (e) => {
  e.preventDefault();
  const t = byId("token").value.trim();
  byId("login-error").textContent = "";
  if (!/^[!-~]+$/.test(t)) {
    byId("login-error").textContent = "A token has letters and digits only.";
    return;
  }
  remember(t);
  byId("token").value = "";
  start();
});
byId("logout").addEventListener("click", () => login());
byId("say").addEventListener("click", () => actions.say());
window.addEventListener("hashchange", () => {
  const t = fragmentToken();
  if (t) {
    login();
    remember(t);
    start();
  } else if (run) route();
});

const given = fragmentToken();
if (given) remember(given);
if (hasToken()) start();
else login();
