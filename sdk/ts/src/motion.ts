// How a body moves by its speed and stops at walls: the rules of world.Move, to the last bit.

import { ANGLE, NORM, X, Y, float, rounded, steps } from "./schema.ts"
import type { Field, Kind, Outline, Schema } from "./schema.ts"

/** chunkSide is the side of a chunk in cells. */
export const chunkSide = 256
const edge = chunkSide << 15, maxSpeed = 1024, stride = .5

const sines = [1 / 355687428096000, -1 / 1307674368000, 1 / 6227020800, -1 / 39916800, 1 / 362880, -1 / 5040, 1 / 120, -1 / 6, 1]
const cosines = [1 / 20922789888000, -1 / 87178291200, 1 / 479001600, -1 / 3628800, 1 / 40320, -1 / 720, 1 / 24, -1 / 2, 1]

/** sinCos returns both as the world has them, to the bit. */
export function sinCos(angle: number): [sin: number, cos: number] {
  if (!Number.isFinite(angle)) return [0, 1]
  let r = angle
  if (r < -8 || r > 8) r %= 2 * Math.PI
  const turns = Math.floor(r * (2 / Math.PI) + .5)
  r = r - turns * 1.57079632673412561417e+00 - turns * 6.07710050650619224932e-11
  const xx = r * r
  let s = sines[0], c = cosines[0]
  for (let i = 1; i < sines.length; i++) {
    s = xx * s + sines[i]
    c = xx * c + cosines[i]
  }
  s *= r
  return ([[s, c], [c, -s], [-s, -c], [-c, s]] as [number, number][])[turns & 3]
}

/** Terrain is what is known of the cells of the world. What is not known is asked for, and free until then. */
export class Terrain {
  private readonly chunks = new Map<string, Uint8Array>()
  private readonly asked = new Map<string, number>()
  private readonly solids: boolean[] = []
  private last = ""
  private lastChunk: Uint8Array | undefined
  /** ask sends a request; it returns false if it cannot be sent now. */
  ask: (bx: number, by: number) => boolean = () => false
  now: () => number = () => 0

  constructor(schema: Schema) { for (const v of schema.solid ?? []) this.solids[v] = true }

  /** chunk returns the cells of a chunk, row by row: that of (x, y) is at y·256+x. undefined until the server has told it. */
  chunk(bx: number, by: number): Uint8Array | undefined {
    const key = `${bx},${by}`
    if (key === this.last && this.lastChunk) return this.lastChunk
    const c = this.chunks.get(key)
    if (c) {
      this.last = key
      this.lastChunk = c
    } else if (bx === bx << 16 >> 16 && by === by << 16 >> 16) {
      const now = this.now(), at = this.asked.get(key)
      if ((at === undefined || now - at > 5000) && this.asked.size < 64 && this.ask(bx, by)) this.asked.set(key, now)
    }
    return c
  }

  /** at returns the value of the cell at a position; undefined until the server has told it. */
  at(x: number, y: number): number | undefined {
    if (!inside(x, y)) return 0
    x = Math.floor(x)
    y = Math.floor(y)
    return this.chunk(x >> 8, y >> 8)?.[(y & 255) << 8 | x & 255]
  }

  /** solid reports whether a body stops at a position. */
  solid(x: number, y: number): boolean { return !inside(x, y) || !!this.solids[this.at(x, y) ?? -1] }

  /** set takes a chunk that the server tells. */
  set(bx: number, by: number, cells: Uint8Array): void {
    const key = `${bx},${by}`
    this.chunks.delete(key)
    this.chunks.set(key, cells)
    this.asked.delete(key)
    this.last = ""
    if (this.chunks.size > 256) this.chunks.delete(this.chunks.keys().next().value!)
  }

  /** forget lets requests go that a lost connection has not answered, and all that was told of another world. */
  forget(all: boolean): void {
    this.asked.clear()
    if (all) {
      this.chunks.clear()
      this.last = ""
    }
  }
}

const inside = (x: number, y: number) => x >= -edge && x < edge && y >= -edge && y < edge

/** Mover moves bodies through a terrain. */
export class Mover {
  private readonly terrain: Terrain
  private readonly outlines: { radius: number; w: number; h: number }[]

  constructor(schema: Schema, terrain: Terrain) {
    this.terrain = terrain
    this.outlines = (schema.hitboxes ?? []).map((o: Outline) => ({ radius: o.radius ?? 0, w: (o.width ?? 0) / 2, h: (o.height ?? 0) / 2 }))
  }

  private outline(sprite: number) {
    const o = this.outlines[sprite]
    return o && (o.radius > 0 || o.w > 0 && o.h > 0) ? o : undefined
  }

  /** move moves a body by its speed, and reports whether something stopped it. */
  move(b: { x: number; y: number; heading: number; speed: number; sprite?: number }): boolean {
    let norm = Math.fround(b.speed)
    if (!Number.isFinite(norm) || norm === 0) return false
    norm = Math.max(-maxSpeed, Math.min(norm, maxSpeed))
    const [sin, cos] = sinCos(Math.fround(b.heading)), dx = norm * cos, dy = norm * sin, sprite = b.sprite ?? 0
    if (!this.outline(sprite)) {
      b.x = Math.max(-edge, Math.min(b.x + dx, edge - 1))
      b.y = Math.max(-edge, Math.min(b.y + dy, edge - 1))
      return false
    }
    const strides = Math.ceil(Math.sqrt(dx * dx + dy * dy) / stride), { x, y } = b
    let within = false
    for (let i = 1; i <= strides; i++) {
      const part = i / strides
      let nx = x + dx * part, ny = y + dy * part
      const hit = !this.stands(nx, ny, sprite)
      if (hit && i === 1) within = !this.stands(x, y, sprite) // what stands in a wall may walk out
      if (hit && !within) {
        for (let k = 0; k < 4; k++) {
          const mx = (b.x + nx) / 2, my = (b.y + ny) / 2
          if (this.stands(mx, my, sprite)) {
            b.x = mx
            b.y = my
          } else {
            nx = mx
            ny = my
          }
        }
        return true
      }
      within = hit
      b.x = nx
      b.y = ny
    }
    return false
  }

  /** stands reports whether an outline is over nothing solid, both at a place and at the corner of its cell. */
  stands(x: number, y: number, sprite: number): boolean {
    if (!this.outline(sprite)) return true
    return inside(x, y) && !this.hits(x, y, sprite) && !this.hits(Math.floor(x), Math.floor(y), sprite)
  }

  private hits(x: number, y: number, sprite: number): boolean {
    const o = this.outline(sprite)!
    if (!inside(x, y)) return true
    if (o.radius === 0) {
      for (let row = Math.floor(y - o.h); row <= Math.floor(y + o.h); row++) if (this.span(x - o.w, x + o.w, row)) return true
      return false
    }
    for (let row = Math.floor(y - o.radius); row <= Math.floor(y + o.radius); row++) {
      // A cell has its lower and its left border, and not the others.
      const top = row + 1, dy = Math.max(0, row - y, y - top), rest = o.radius * o.radius - dy * dy
      if (rest < 0 || rest === 0 && y >= top) continue
      const half = Math.sqrt(rest)
      if (this.span(x - half, y >= top ? Math.ceil(x + half) - 1 : x + half, row)) return true
    }
    return false
  }

  private span(from: number, to: number, row: number): boolean {
    for (let x = Math.floor(from); x <= Math.floor(to); x++) if (this.terrain.solid(x, row)) return true
    return false
  }

  /** round brings the values of a body to those that the world holds: to its grid, where it has one, and not into a wall. */
  round(k: Kind, values: any[], before: any[]): void {
    const [fx, fy] = k.fields
    values[ANGLE] = rounded(k.fields[ANGLE], values[ANGLE])
    values[NORM] = rounded(k.fields[NORM], values[NORM])
    if (!fx.quantum) return
    const fromX = values[X], fromY = values[Y], sprite = values[4], x = rounded(fx, fromX), y = rounded(fy, fromY)
    values[X] = x
    values[Y] = y
    if (x === fromX && y === fromY || this.stands(x, y, sprite) || !this.stands(fromX, fromY, sprite)) return
    const otherX = beyond(fx, x, fromX), otherY = beyond(fy, y, fromY)
    const free = [[otherX, y], [x, otherY], [otherX, otherY]].find(([a, b]) => this.stands(a, b, sprite)) ?? [before[X], before[Y]]
    values[X] = free[0]
    values[Y] = free[1]
  }
}

/** beyond returns the step on the other side of a float that was rounded. */
function beyond(f: Field, rounded: number, from: number): number {
  const q = f.quantum!, n = steps(q, rounded) + Math.sign(from - rounded)
  return float(f, Math.max(q.low, Math.min(n, q.high)))
}
