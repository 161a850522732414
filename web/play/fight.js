// Who hit whom. The server tells health and balls, and no score, so the page counts what it sees: a ball that ends where somebody loses health was
// that hit, and health that is full again out of nothing is a new life.

const near = 40, recent = 700 // cells, ms

/** Fight keeps the score of the own player, and says what has just happened. */
export class Fight {
  hits = 0
  beaten = 0
  lost = 0
  lives = new Map() // health and place by entity
  balls = new Map() // where each was last seen
  marks = []        // hits to be drawn
  tell = () => {}   // (what, name)
  most = new Map()  // the greatest health by kind

  /** look takes what is in sight. */
  look(list, ownId, now) {
    const here = new Map()
    for (const e of list) {
      here.set(e.id, e)
      if (e.sender !== undefined) this.balls.set(e.id, { x: e.x, y: e.y, sender: Number(e.sender), at: now })
    }
    for (const [id, b] of this.balls) if (now - b.at > recent) this.balls.delete(id)
    for (const [id, l] of this.lives) if (!here.has(id) && now - l.at > 3000) this.lives.delete(id)
    for (const e of list) {
      if (e.health === undefined) continue
      this.most.set(e.kind, Math.max(this.most.get(e.kind) ?? 0, e.health))
      const was = this.lives.get(e.id)
      const flash = was?.flash ?? -1e9
      this.lives.set(e.id, { health: e.health, x: e.x, y: e.y, flash, at: now, name: e.name })
      if (!was || was.health === e.health || now - was.at > 1000) continue
      const died = e.health > was.health
      if (died && Math.hypot(e.x - was.x, e.y - was.y) < 20) continue // it was healed
      const by = this.thrower(was, e.id, now)
      if (!died) this.lives.get(e.id).flash = now
      if (e.id === ownId) {
        if (died) this.lost++
        this.tell(died ? "lost" : "hurt", here.get(by)?.name ?? this.lives.get(by)?.name)
      } else if (by === ownId && ownId) {
        died ? this.beaten++ : this.hits++
        this.tell(died ? "beaten" : "hit", e.name)
      }
      if (e.id === ownId || by === ownId) this.marks.push({ x: was.x, y: was.y, at: now, text: died ? "out" : String(e.health - was.health), mine: e.id === ownId })
    }
    this.marks = this.marks.filter(m => now - m.at < 900)
  }

  /** thrower returns the sender of the ball that ended last at a place. */
  thrower(at, target, now) {
    let best = 0, least = near
    for (const [id, b] of this.balls) {
      const d = Math.hypot(b.x - at.x, b.y - at.y)
      if (b.sender !== target && d < least) [best, least] = [b.sender, d]
      if (now - b.at > recent) this.balls.delete(id)
    }
    return best
  }
}
