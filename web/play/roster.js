// Who is here, and by which dialect.

import { dialects } from "./look.js"
import { el, make, plain, set } from "./text.js"

const rows = 100

/** Roster is the list behind the button in the corner. */
export class Roster {
  shown = ""

  constructor(done) {
    const button = el("who-button")
    button.addEventListener("click", () => {
      const open = el("who").hidden
      el("who").hidden = !open
      button.setAttribute("aria-expanded", String(open))
      this.shown = ""
      if (!open) done()
    })
    addEventListener("keydown", e => {
      if (e.code === "Escape" && !el("who").hidden) button.click()
    })
  }

  /** show takes the players: { name, dialect, carrier, away, own } */
  show(players) {
    const n = players.length
    set(el("who-button"), n === 1 ? "only you here" : `${n} here`)
    if (el("who").hidden) return
    const state = players.map(p => `${p.name}/${p.dialect}/${p.away}/${p.own}`).join("\n")
    if (state === this.shown) return
    this.shown = state
    set(el("who-title"), n === 1 ? "You are alone here" : `${n} players in this room`)
    el("legend").replaceChildren(...dialects.map(d => [d, players.filter(p => p.dialect === d).length]).filter(([, k]) => k).map(([d, k]) => {
      const li = make("li")
      li.append(make("span", "dot " + d), `${d} ${k}`)
      return li
    }))
    const list = players.slice().sort((a, b) => (b.own - a.own) || (a.away - b.away) || a.name.localeCompare(b.name))
    el("list").replaceChildren(...list.slice(0, rows).map(p => {
      const li = make("li", p.own ? "own" : "")
      const how = [p.dialect, p.carrier].filter(Boolean).join(" over ")
      li.append(make("span", "dot " + (p.dialect || "")), make("span", "name", plain(p.name, 32)), make("span", "note", p.own ? "you" : p.away ? "away" : how))
      return li
    }), ...(n > rows ? [make("li", "", `and ${n - rows} more`)] : []))
  }
}
