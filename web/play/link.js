// The connection: in, lost, back again, and out. A reload is the same player, a closed tab says goodbye, and two tabs are two players.

import * as parley from "/parley.js"

const store = "parley.place", pauses = [300, 700, 1500, 3000, 5000], tries = 3, gone = 15 * 60_000

/** wish is what the address of the page asks for. A ticket is taken out of it, so that nobody sends it on. */
export function wish() {
  const query = new URLSearchParams(location.search), hash = new URLSearchParams(location.hash.slice(1))
  const w = { room: query.get("room") ?? "", match: query.get("match") ?? "", ticket: hash.get("ticket") ?? "" }
  if (w.ticket) history.replaceState(null, "", location.pathname + location.search)
  return w
}

/** The token of a reload is kept while the page is away only: a copy of a tab is another player, and a tab that plays leaves nothing to copy. */
function take(w) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(store) ?? "null")
    sessionStorage.removeItem(store)
    return kept && kept.room === w.room && kept.match === w.match && Date.now() - kept.at < gone ? kept.session : ""
  } catch { return "" }
}

/** Link joins, and comes back. */
export class Link {
  world = null
  session = ""
  over = true // nothing is to come back to

  /** to: joined(world, again, anew), waits(text), lost(), back(), ended(reason) */
  constructor(to) {
    this.to = to
    this.wish = wish()
    this.session = this.wish.ticket ? "" : take(this.wish)
    addEventListener("pagehide", () => this.leave())
    addEventListener("pageshow", e => e.persisted && location.reload())
  }

  /** canReturn reports whether this tab has played before it was loaded again. */
  get canReturn() { return Boolean(this.session) }

  leave() {
    const session = this.world?.session || this.session
    if (!session || this.over) return
    try { sessionStorage.setItem(store, JSON.stringify({ session, room: this.wish.room, match: this.wish.match, at: Date.now() })) } catch {}
    navigator.sendBeacon?.("/play/leave", session)
  }

  /** enter joins, by the session of before if there is one. Who comes back by itself tries for as long as it takes; anew says that its place is lost. */
  async enter(name, back = Boolean(this.session), anew = false) {
    this.name = name
    this.over = false
    const first = !this.session && !this.played
    this.to.waits(this.wish.match && first ? `Looking for somebody who wants to play ${this.wish.match} …` : "Joining …")
    for (let i = 0; ; i++) {
      try {
        return this.in(await this.join(), back, anew)
      } catch (err) {
        const refused = err?.fate !== "lost" // else nobody has answered
        if (refused && this.session) { // the place is not held any more: come as a new player
          this.session = ""
          anew = true
          continue
        }
        if (refused) return this.end(words(err))
        if (!back && i >= tries) return this.end("The server does not answer. It may be down, or not let your address in.")
      }
      await new Promise(resolve => setTimeout(resolve, pauses[Math.min(i, pauses.length - 1)] * (.75 + Math.random() / 2)))
    }
  }

  join() {
    const o = { name: this.name }
    if (new URLSearchParams(location.search).get("predict") === "off") o.predict = false
    if (this.session) o.session = this.session
    else for (const k of ["room", "match", "ticket"]) if (this.wish[k]) o[k] = this.wish[k]
    return parley.join(location.origin, o)
  }

  in(world, again, anew) {
    this.world = world
    this.played = true
    this.session = ""
    this.wish.ticket = "" // it is used
    world.on("state", e => {
      if (this.world !== world) return
      if (e.state === "away") this.to.lost()
      if (e.state === "playing") this.to.back()
    })
    world.on("ended", e => this.ended(world, e))
    this.to.joined(world, again, anew)
  }

  /** ended is the end of a connection: for good, or to come back. */
  ended(world, e) {
    if (this.world !== world) return
    this.world = null
    this.session = "" // its place is no longer held
    if (e.fate === "over") return this.end(words(e))
    this.to.lost()
    this.enter(this.name, true, true)
  }

  end(why) {
    this.over = true
    this.session = ""
    this.to.ended(why)
  }
}

/** words returns what the server, or the library, says of an end. It is for the player alone: a kick may say anything. */
const words = e => String(e?.text ?? e?.message ?? e ?? "").replace(/^parley: /, "") || "the server has closed the connection"
