// The door: the name, why one is not in, and how to play.

import { el, make, plain, set, touch } from "./text.js"

const keys = touch
  ? [["left half", "drag to walk"], ["right half", "tap where you want to throw"], ["Throw", "throws at the nearest"], ["Chat", "speaks to all in the room"]]
  : [["W A S D, arrows", "walk"], ["click", "throw there"], ["space", "throw at the nearest"], ["Enter", "speak"], ["Tab, Escape", "buttons, back to the game"]]

// What the server says, word by word, when it lets nobody in, and what to do about it.
const reasons = new Map([
  ["game is full", "The game is full. Try again in a while."],
  ["no such room", "There is no room of that name on this server."],
  ["room needs a ticket", "This room needs a ticket: open the link that you were sent, with its #ticket=… at the end."],
  ["ticket is not valid", "The ticket in the link is not valid, or has expired. Ask for a new one."],
  ["ticket was used", "The ticket in the link has been used. Each lets one player in, once."],
  ["too many from your address", "Too many players are here from your address."],
  ["the game is busy: come again", "The server is busy. Try again in a moment."],
  ["resumed elsewhere", "You play on in another window."],
])

/** why explains a reason of the server; inside says that the player was in the game. */
export function why(reason, inside = false) {
  const text = String(reason ?? "")
  return reasons.get(text) ?? (inside ? "You are out of the game: " : "") + plain(text, 300)
}

/** Door asks for a name, once. */
export class Door {
  constructor(enter) {
    for (const [k, what] of keys) el("keys").append(make("dt", "", k), make("dd", "", what))
    try { el("name").value = localStorage.getItem("parley.name") ?? "" } catch {} // a browser that keeps nothing asks again
    el("door-form").addEventListener("submit", e => {
      e.preventDefault()
      const name = el("name").value.trim()
      try { localStorage.setItem("parley.name", name) } catch {}
      enter(name)
    })
  }

  /** known reports whether the player has given a name before. */
  get known() {
    try { return localStorage.getItem("parley.name") !== null } catch { return false }
  }

  get name() { return el("name").value.trim() }

  title(game) {
    if (game === "arena" || !game) return
    set(el("door-title"), plain(game, 40))
    set(el("door-what"), "This page knows the arena best. It draws any other game too, in plain shapes, with a button for each action.")
  }

  /** open shows the door, and a reason if there is one. */
  open(reason = "", button = "Play") {
    el("door").hidden = false
    this.wait("")
    set(el("door-why"), reason)
    set(el("enter"), button)
    el("enter").disabled = false
    el(this.known ? "enter" : "name").focus()
  }

  /** wait says what is being done. */
  wait(text) {
    set(el("door-wait"), text)
    el("door-wait").hidden = !text
    el("enter").disabled = Boolean(text)
    if (text) set(el("door-why"), "")
  }

  close() { el("door").hidden = true }
}
