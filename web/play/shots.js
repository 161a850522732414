// One's own balls, from the moment of the throw. The server tells of a ball a round trip later, and it is drawn some ticks ago as all that is not
// one's own. So a ball is first drawn where it is in the time of one's own player, and falls back into the time of the others while it flies: what it
// hits is where it is seen.

const settles = 700  // ms until a ball is drawn in the time of the others
const spare = 400    // ms more than a round trip for which a ball is believed that the server has not told of
const arenaBall = 160, radius = 10, step = 4 // cells a second; cells

/** Shots are the balls of the own player. */
export class Shots {
  waiting = []      // thrown, and not told of yet
  told = new Map()  // the throw of each ball, by its entity
  speed = 0         // cells a second

  constructor(game) {
    this.game = game
    if (game.isArena) this.speed = arenaBall
  }

  /** thrown notes that a ball leaves the own player. */
  thrown(angle, now) {
    const { own, world } = this.game
    if (!this.speed) return // nothing that this game's players throw has flown yet
    this.waiting.push({ x: own.x, y: own.y, angle, at: now, until: now + (world.rtt || 0) + spare, most: this.free(own.x, own.y, angle) })
  }

  /** free returns how far a ball can fly until a wall stops it. */
  free(x, y, angle) {
    const { terrain } = this.game.world, c = Math.cos(angle), s = Math.sin(angle)
    for (let d = step; d < 400; d += step) {
      const px = x + c * d, py = y + s * d
      if ([[0, 0], [radius, 0], [-radius, 0], [0, radius], [0, -radius]].some(([dx, dy]) => this.solid(terrain, px + dx, py + dy))) return d - step
    }
    return 400
  }

  solid(terrain, x, y) { return Boolean(this.game.walls.solid[terrain.at(x, y) ?? 0]) }

  /** of returns where the own balls are to be drawn, and marks those of the list that are not to be drawn where they are. */
  of(list, now) {
    const { ownId } = this.game.world, shown = [], here = new Set()
    const flown = t => Math.min((now - t.at) * this.speed / 1000, t.most)
    for (const e of list) {
      if (e.sender === undefined || Number(e.sender) !== ownId || !ownId) continue
      here.add(e.id)
      if (e.speed > 0) this.speed = e.speed * (this.game.world.tickRate || 20)
      if (!this.told.has(e.id)) {
        const i = this.waiting.findIndex(t => Math.abs(Math.atan2(Math.sin(t.angle - e.heading), Math.cos(t.angle - e.heading))) < .05)
        this.told.set(e.id, i < 0 ? null : this.waiting[i])
        if (i >= 0) this.waiting.splice(0, i + 1)
      }
      const t = this.told.get(e.id), k = t ? Math.min((now - t.at) / settles, 1) : 1
      if (k === 1) continue
      const rest = (1 - k) * (1 - k) * (1 + 2 * k), d = flown(t), ahead = Math.max(0, d - Math.hypot(e.x - t.x, e.y - t.y))
      e.covered = true
      shown.push({ x: e.x + Math.cos(t.angle) * ahead * rest, y: e.y + Math.sin(t.angle) * ahead * rest, like: e })
    }
    for (const id of this.told.keys()) if (!here.has(id)) this.told.delete(id)
    this.waiting = this.waiting.filter(t => now < t.until)
    for (const t of this.waiting) if (flown(t) < t.most) shown.push({ x: t.x + Math.cos(t.angle) * flown(t), y: t.y + Math.sin(t.angle) * flown(t), like: { sprite: 2 } })
    return shown
  }
}
