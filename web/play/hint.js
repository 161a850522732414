// What a player may want to know now: at most one sentence, and none to somebody who does well without.

import { el, set, touch } from "./text.js"

const slow = 4000

/** Hint says what to do next. */
export class Hint {
  began = performance.now()
  walked = false
  threw = false
  quietSince = 0

  /** of returns the sentence for now: others is the number in sight, here that of all in the room. */
  of(s, now) {
    if (!s.own) return now - this.began > slow ? "You have no body at the moment: you watch." : ""
    if (!this.walked) return touch ? "Drag a finger on the left half of the screen to walk." : "Walk with W A S D or the arrow keys."
    this.quietSince = s.others ? 0 : this.quietSince || now
    if (s.others && s.throws && !this.threw) return touch ? "Tap where you want to throw, or the button for the nearest." : "Click where you want to throw. Space throws at the nearest."
    if (s.others || now - this.quietSince < 1500) return ""
    if (s.here > 1) return `Nobody is in sight. ${s.here === 2 ? "One other is" : `${s.here - 1} others are`} somewhere: follow the arrow.`
    return "You are alone here. Open this page in a second tab, send its address to somebody, or fill the arena: parley bots -n 20"
  }

  show(s, now) {
    const text = this.of(s, now)
    set(el("hint"), text)
    el("hint").hidden = !text
  }
}

let timer = 0

/** news shows what has just happened, for a moment. */
export function news(text, kind = "") {
  const p = el("news")
  p.className = kind
  p.textContent = text
  clearTimeout(timer)
  timer = setTimeout(() => p.classList.add("past"), 2200)
}
