// The play page: everything in this folder put together. What it knows of the game comes from the server and from the world of parley.js.

import { Chat, isBot } from "./chat.js"
import { Door, why } from "./door.js"
import { View } from "./draw.js"
import { Fight } from "./fight.js"
import { Game } from "./game.js"
import { Hint, news } from "./hint.js"
import { Input } from "./input.js"
import { Link } from "./link.js"
import { colourOf } from "./look.js"
import { Roster } from "./roster.js"
import { el, make, plain, set, touch } from "./text.js"

const view = new View(el("world")), fight = new Fight(), hint = new Hint()
let game = null, asked = "", told = 0

const focus = () => el("world").focus({ preventScroll: true })
const chat = new Chat(text => game?.world.say(text), focus)
const roster = new Roster(focus)
const link = new Link({ joined, waits, lost, back, ended })
const door = new Door(name => link.enter(name))
const input = new Input(el("world"), {
  playing: () => Boolean(game) && el("door").hidden,
  walk(x, y) {
    hint.walked ||= Boolean(x || y)
    game?.walk(x, y)
  },
  point(px, py) { throwTo(game?.aimAt(...view.toWorld(px, py))) },
  act() { throwTo(game?.aimAtNearest()) },
  chat: () => chat.open(),
})

function throwTo(angle) {
  if (angle !== undefined && game.throw(angle)) hint.threw = true
}

if (touch) document.body.classList.add("touch")
el("chat-button").addEventListener("click", () => chat.open())

function waits(text) {
  if (!game) door.wait(text)
}

function show(yes) {
  for (const id of ["me", "corner", "chat", "buttons"]) el(id).hidden = !yes
  if (!yes) el("hint").hidden = true
}

/** joined begins to play, or goes on. */
function joined(world, again, anew) {
  asked = link.name
  told = 0
  game = new Game(world)
  door.title(game.name)
  door.close()
  el("banner").hidden = true
  show(true)
  focus()
  buttons()
  game.walk(input.x, input.y)
  world.on("chat", l => chat.add(l.name || "server", l.text, l.name ? colourOf(game.players().find(p => p.name === l.name)?.dialect) : ""))
  world.on("joined", p => p.own || p.name === world.name || !told || isBot(p.name) || chat.add("", `${plain(p.name, 32)} has come`))
  world.on("left", p => isBot(p.name) || chat.add("", `${plain(p.name, 32)} has gone`))
  if (again) news(anew ? "You were away for too long: your place is a new one" : "You are back")
}

function lost() {
  set(el("banner"), "The connection is lost. Coming back …")
  el("banner").hidden = false
}

function back() {
  el("banner").hidden = true
  news("You are back")
}

function ended(reason) {
  const inside = Boolean(game)
  game = null
  el("banner").hidden = true
  show(false)
  door.open(why(reason, inside), inside ? "Play again" : "Try again")
}

/** buttons makes one for each action; on a screen with a keyboard the game of the arena needs none. */
function buttons() {
  const list = game.actions.map((a, i) => {
    const b = make("button", "", a.name === "throw" ? "Throw" : plain(a.name, 20))
    b.addEventListener("click", () => {
      if (a === game.shot) throwTo(game.aimAtNearest())
      else game.act(a)
      if (!touch) focus()
    })
    if (!touch && i < 9) b.title = `key ${i + 1}`
    return b
  })
  el("acts").replaceChildren(...(touch || !game.isArena ? list : []))
}
addEventListener("keydown", e => {
  const i = Number(e.key) - 1
  if (!game || game.isArena || !(e.target === el("world") || e.target === document.body) || !game.actions[i]) return
  game.actions[i] === game.shot ? throwTo(game.aimAtNearest()) : game.act(game.actions[i])
})

fight.tell = (what, name) => {
  const who = plain(name || "somebody", 24)
  if (what === "beaten") news(`You beat ${who}!`, "good")
  else if (what === "lost") news(name ? `${who} beat you. You begin again elsewhere.` : "You were beaten. You begin again elsewhere.", "bad")
  else if (what === "hurt") news(name ? `${who} hit you` : "You were hit", "bad")
}

/** words brings what is not drawn up to date, a few times a second. */
function words(scene, now) {
  const own = scene.own, players = game.players(), me = players.find(p => p.own)
  roster.show(players)
  if (me && told !== me.name) {
    if (asked && me.name !== asked && !told) chat.add("", `The name ${plain(asked, 32)} is taken or reserved, so you play as ${plain(me.name, 32)}.`)
    told = me.name
  }
  set(el("my-name"), plain(me?.name ?? asked, 24))
  const most = own && fight.most.get(own.kind), health = own?.health
  set(el("my-health"), health === undefined ? "" : String(health))
  el("bar").hidden = !most
  if (most) {
    el("bar-left").style.setProperty("width", 100 * health / most + "%")
    el("bar-left").classList.toggle("low", health <= .3 * most)
  }
  set(el("score"), game.isArena ? `beaten ${fight.beaten} · hits ${fight.hits} · died ${fight.lost}` : plain(game.name, 30))
  const { rtt, loss } = game.net()
  set(el("net"), game.world.state === "playing" ? `${rtt < 1 ? "under 1" : Math.round(rtt)} ms · ${Math.round(100 * loss)} % loss` : "not connected")
  el("net").classList.toggle("bad", loss > .03 || rtt > 250)
  const others = scene.list.filter(e => !e.own && game.role(e) === "player").length
  hint.show({ own, others, here: players.length, throws: Boolean(game.shot) }, now)
  scene.guide = game.isArena && own && !others && players.length > 1 && hint.walked ? { x: 0, y: 0, name: "the middle" } : null
  guide = scene.guide
}
let guide = null, worded = 0

function frame() {
  requestAnimationFrame(frame)
  const now = performance.now()
  if (!game) {
    view.draw(nothing, now)
    return
  }
  const scene = game.scene(now)
  scene.fight = fight
  scene.guide = guide
  fight.look(scene.list, game.world.ownId, now)
  view.draw(scene, now)
  if (now - worded > 120) {
    worded = now
    words(scene, now)
  }
}
const nothing = { list: [], shots: [], own: null, walls: null, fight, guide: null, cooldown: 0, role: () => "", radius: () => 0, shape: () => 4 }

window.parleyPage = { get game() { return game }, fight, view, link } // for the console, and for tests

if (link.canReturn || link.wish.ticket && door.known) link.enter(door.name)
else door.open()
requestAnimationFrame(frame)
