// Chat: the newest lines over the game for a while, all of them while the player writes.

import { el, make, plain } from "./text.js"

const stays = 12_000, shown = 5, kept = 80
const measures = /^hello \d+ \[\w+\]$/ // what a bot says, to measure how long it takes

/** isBot reports whether a player has a name of parley bots, which come and go in heaps. */
export const isBot = name => name.startsWith("bot-")

/** Chat is the list of lines and the line that is written. */
export class Chat {
  constructor(say, done) {
    this.form = el("chat-form")
    this.text = el("chat-text")
    this.lines = el("lines")
    this.done = done
    this.form.addEventListener("submit", e => {
      e.preventDefault()
      const text = this.text.value.trim()
      try {
        if (text && say(text) === false) throw new Error("not said")
        this.close()
      } catch (err) { // the text stays, so that it can be shortened or said again
        this.add("", err instanceof RangeError ? "This line is too long. Shorten it, or say it in two." : "This line cannot be sent now. Press Enter again in a moment.")
      }
    })
    this.text.addEventListener("keydown", e => {
      if (e.code !== "Escape") return
      e.preventDefault()
      this.close()
    })
    this.text.addEventListener("blur", () => this.text.value || this.close())
    setInterval(() => this.fade(), 1000)
  }

  open() {
    el("chat").classList.add("open")
    this.form.hidden = false
    this.text.focus()
    this.lines.scrollTop = this.lines.scrollHeight
  }

  close() {
    if (this.form.hidden) return
    this.form.hidden = true
    this.text.value = ""
    el("chat").classList.remove("open")
    this.done()
  }

  /** add shows a line of somebody; without a name it is the page that speaks. */
  add(name, text, colour = "") {
    if (isBot(name) && measures.test(text)) {
      if (!this.spared) this.add("", "The bots' test lines are not shown.")
      this.spared = true
      return
    }
    const li = make("li")
    if (name) {
      const b = make("b", "", plain(name, 32))
      if (colour) b.style.setProperty("color", colour)
      li.append(b, ": " + plain(text, 512))
    } else {
      li.className = "told"
      li.textContent = text
    }
    li.dataset.until = String(Date.now() + stays)
    this.lines.append(li)
    while (this.lines.children.length > kept) this.lines.firstChild.remove()
    this.fade()
    this.lines.scrollTop = this.lines.scrollHeight
  }

  /** fade hides what is old, and all but the newest lines. */
  fade() {
    const list = [...this.lines.children], now = Date.now()
    list.forEach((li, i) => li.classList.toggle("past", i < list.length - shown || Number(li.dataset.until) < now))
  }
}
