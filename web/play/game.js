// What is known of a game: the arena by name, and any other by what the server tells of its kinds and actions.

import { Shots } from "./shots.js"
import { Walls } from "./walls.js"

const arenaSpeed = 40, plainRadius = 10 // cells a second; cells

/** Game is a world that is played. */
export class Game {
  until = 0   // when the own player may throw again
  longest = 0 // ticks that a cooldown was at most

  constructor(world) {
    this.world = world
    this.schema = world.schema ?? world.server?.schema ?? {}
    this.name = this.schema.game || world.server?.game || ""
    this.isArena = /^arena\b/.test(this.name) || !this.name
    this.actions = this.schema.actions ?? [{ name: "throw", fields: [{ name: "angle", type: "f32" }] }]
    this.shot = this.actions.find(a => a.fields?.some(f => f.name === "angle")) ?? null
    this.walls = new Walls(world)
    this.shots = new Shots(this)
    this.kinds = new Map((this.schema.kinds ?? []).map((k, i) => [k.name, { ...k, number: i }]))
  }

  /** scene returns what is to be drawn at a time. */
  scene(now) {
    const list = [...this.world.entities(now)], by = new Map()
    for (const p of this.players()) by.set(p.entity, p)
    let own = null
    const all = list.map(e => {
      const p = by.get(e.id), x = Object.assign(Object.create(e), { id: e.id })
      x.own = e.own || e.id === this.world.ownId
      x.name = e.name ?? p?.name
      x.dialect = e.dialect ?? p?.dialect
      x.away = p?.away ?? false
      if (x.own) own = x
      return x
    })
    this.own = own
    this.list = all
    return {
      list: all.filter(e => e.x !== undefined), shots: this.shots.of(all, now), own, walls: this.walls, ownId: this.world.ownId, cooldown: this.cooldown(now),
      role: e => this.role(e), radius: e => this.radius(e), shape: e => 3 + (this.kinds.get(e.kind)?.number ?? 0) % 5,
    }
  }

  /** role says how an entity is drawn. */
  role(e) {
    if (e.own || e.name || e.kind === "player") return "player"
    return e.sender !== undefined || e.kind === "ball" ? "shot" : "thing"
  }

  radius(e) {
    const h = this.schema.hitboxes?.[e.sprite]
    return h?.radius || h?.width / 2 || plainRadius
  }

  /** players returns who is here: { name, entity, dialect, carrier, away, own } */
  players() {
    const list = []
    for (const p of this.world.players ?? []) {
      const entity = p.id ?? p.entity ?? 0
      const own = entity !== 0 && entity === this.world.ownId // a name may be that of somebody who had it before
      list.push({ name: p.name, entity, dialect: p.dialect ?? "", carrier: p.carrier ?? "", away: Boolean(p.away), own })
    }
    return list
  }

  net() { return { rtt: this.world.rtt, loss: Number(this.world.loss) || 0 } }

  /** walk steers in a direction, at full speed; (0, 0) stands. */
  walk(x, y) {
    const kind = this.own && this.kinds.get(this.own.kind)
    const speed = kind?.max_speed || arenaSpeed / (this.world.tickRate || 20)
    if (x || y) this.heading = Math.atan2(y, x)
    this.world.steer(this.heading ?? this.own?.heading ?? 0, x || y ? speed : 0)
  }

  /** aimAt returns the direction of a place. */
  aimAt(x, y) { return this.own ? Math.atan2(y - this.own.y, x - this.own.x) : undefined }

  nearest() {
    let best, least = Infinity
    for (const e of this.list ?? []) {
      const d = this.own ? Math.hypot(e.x - this.own.x, e.y - this.own.y) : 0
      if (!e.own && this.role(e) === "player" && !e.away && d < least) [best, least] = [e, d]
    }
    return best
  }

  /** aimAtNearest returns the direction of the nearest player, or where the own one looks. */
  aimAtNearest() {
    const e = this.nearest()
    return e ? this.aimAt(e.x, e.y) : this.own ? this.heading ?? this.own.heading : undefined
  }

  /** throw does the action that has a direction. It reports whether it was asked for. */
  throw(angle) {
    if (!this.shot || !this.own || this.cooldown(performance.now()) > .3) return false
    this.world.act(this.shot.name, this.params(this.shot, angle))
    this.shots.thrown(angle, performance.now())
    if (this.isArena && !this.own.cooldown_one) this.until = performance.now() + (this.longest || .5 * this.world.tickRate) * 1000 / this.world.tickRate
    return true
  }

  act(action) { this.world.act(action.name, this.params(action, this.aimAtNearest() ?? 0)) }

  /** params fills in what an action wants to know: the direction, the nearest entity, and nothing else. */
  params(action, angle) {
    const p = {}
    for (const f of action.fields ?? []) {
      if (f.name === "angle") p.angle = angle
      else if (f.type === "entity" && !this.isArena) p[f.name] = this.nearest()?.id ?? 0
    }
    return p
  }

  /** cooldown returns which part of it is left, 0 to 1. The server's number counts once it has come. */
  cooldown(now) {
    const ticks = Number(this.own?.cooldown_one ?? 0), ms = 1000 / (this.world.tickRate || 20)
    this.longest = Math.max(this.longest, ticks)
    const left = Math.max(this.until - now, ticks * ms), whole = Math.max((this.longest || 10) * ms, 1)
    return Math.max(0, Math.min(1, left / whole))
  }
}
