// Who hit whom. The server tells health and balls, and no score, so the page counts what it sees: a ball that ends where somebody loses health was
// that hit. Health that is full again out of nothing is a new life. It mostly begins out of sight of who ended the last one, so somebody who would
// not survive a hit, and is gone together with one's own ball, was beaten, too.

const near = 28, recent = 900          // cells, ms
const patience = 350                   // ms: what others throw is drawn later than one's own health
const before = -4, after = 12, ticks = 8 // a ball is drawn as it was some ticks ago, and one's own health is that of now; a tick counts as much as 8 cells

/** Fight keeps the score of the own player, and says what has just happened. */
export class Fight {
  hits = 0
  beaten = 0
  lost = 0
  lives = new Map() // health and place by entity
  balls = new Map() // where each was last seen
  marks = []        // hits to be drawn
  tell = () => {}   // (what, name)
  wounds = []       // of the own player, until it is known who threw
  most = new Map()  // the greatest health by kind
  harm = 0          // the greatest harm that a ball has done

  /** look takes what is in sight. */
  look(list, ownId, now) {
    const here = new Map()
    for (const e of list) {
      here.set(e.id, e)
      if (e.sender === undefined) continue
      this.balls.set(e.id, { x: e.x, y: e.y, vx: e.speed * Math.cos(e.heading), vy: e.speed * Math.sin(e.heading), sender: Number(e.sender), at: now })
    }
    for (const [id, l] of this.lives) if (!here.has(id) && !l.left) this.leaves(id, l, here, ownId, now)
    for (const [id, b] of this.balls) if (now - b.at > recent) this.balls.delete(id)
    for (const [id, l] of this.lives) if (!here.has(id) && now - l.at > 3000) this.lives.delete(id)
    for (const e of list) {
      if (e.health === undefined) continue
      this.most.set(e.kind, Math.max(this.most.get(e.kind) ?? 0, e.health))
      const was = this.lives.get(e.id)
      const flash = was?.flash ?? -1e9
      this.lives.set(e.id, { health: e.health, x: e.x, y: e.y, flash, at: now, name: e.name })
      if (!was || was.left || was.health === e.health || now - was.at > 1000) continue
      this.harm = Math.max(this.harm, was.health - e.health)
      const died = e.health > was.health // nobody is healed in the arena
      const own = e.id === ownId, by = own ? 0 : this.thrower(was, e.id, now)
      if (!died) this.lives.get(e.id).flash = now
      if (own) {
        if (died) this.lost++
        this.wounds.push({ what: died ? "lost" : "hurt", x: was.x, y: was.y, at: now })
      } else if (by === ownId && ownId) {
        died ? this.beaten++ : this.hits++
        this.tell(died ? "beaten" : "hit", e.name)
      }
      if (own || by === ownId && ownId) this.marks.push({ x: was.x, y: was.y, at: now, text: died ? "out" : String(e.health - was.health), mine: e.id === ownId })
    }
    while (this.wounds.length && now - this.wounds[0].at > patience) {
      const w = this.wounds.shift(), by = this.thrower(w, ownId, now)
      this.tell(w.what, here.get(by)?.name ?? this.lives.get(by)?.name)
    }
    this.marks = this.marks.filter(m => now - m.at < 900)
  }

  /** leaves looks whether somebody who is in sight no longer was beaten by the own player. */
  leaves(id, life, here, ownId, now) {
    life.left = true
    const ended = [...this.balls].some(([ball, b]) => b.sender === ownId && !here.has(ball))
    if (!ownId || id === ownId || !ended || life.health > this.harm || now - life.at > recent || this.thrower(life, id, now) !== ownId) return
    this.beaten++
    this.tell("beaten", life.name)
    this.marks.push({ x: life.x, y: life.y, at: now, text: "out", mine: false })
  }

  /** thrower returns the sender of the ball that was on its way to a place. */
  thrower(at, target, now) {
    let best = 0, least = Infinity
    for (const b of this.balls.values()) {
      const dx = at.x - b.x, dy = at.y - b.y, vv = b.vx * b.vx + b.vy * b.vy
      const t = vv > 0 ? Math.max(before, Math.min(after, (dx * b.vx + dy * b.vy) / vv)) : 0
      const d = Math.hypot(dx - b.vx * t, dy - b.vy * t), cost = d + ticks * Math.abs(t) + (now - b.at) / 50
      if (b.sender !== target && d < near && cost < least) [best, least] = [b.sender, cost]
    }
    return best
  }
}
