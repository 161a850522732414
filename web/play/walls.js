// What is solid, as shapes: the ground is cut into tiles, and a tile is made once and looked at again from time to time.

import { colours } from "./look.js"

const side = 64, chunkSide = 256, look = 250, perFrame = 6

/** Walls draws the terrain of a world. */
export class Walls {
  tiles = new Map() // by place: { path, known, some, at }
  checked = 0

  constructor(world) {
    this.world = world
    const solid = world.schema?.solid ?? world.server?.schema?.solid
    this.solid = solid ? Array.from({ length: 256 }, (_, v) => solid.includes(v)) : Array.from({ length: 256 }, (_, v) => v !== 0)
  }

  /** make cuts a tile into rectangles: runs of a row, which grow down as long as the next row has the same run. */
  make(tx, ty, now) {
    const path = new Path2D(), open = new Map(), none = { path, known: false, some: false, at: now }
    const bx = Math.floor(tx * side / chunkSide), by = Math.floor(ty * side / chunkSide), cells = this.world.terrain.chunk(bx, by)
    if (!cells) return none
    const first = (ty * side - by * chunkSide) * chunkSide + tx * side - bx * chunkSide
    let some = false
    for (let y = 0; y <= side; y++) {
      const seen = new Set()
      for (let x = 0; y < side && x < side;) {
        const at = first + y * chunkSide
        if (!this.solid[cells[at + x]]) { x++; continue }
        let w = 1
        while (x + w < side && this.solid[cells[at + x + w]]) w++
        const key = x * 256 + w, run = open.get(key)
        if (run) run.h++
        else open.set(key, { x: tx * side + x, y: ty * side + y, w, h: 1 })
        seen.add(key)
        x += w
        some = true
      }
      for (const [key, run] of open) {
        if (seen.has(key)) continue
        path.rect(run.x, run.y, run.w, run.h)
        open.delete(key)
      }
    }
    return { path, known: true, some, at: now }
  }

  /** draw fills what is solid between two corners of the world. The context has the world's coordinates. */
  draw(c, x0, y0, x1, y1, now) {
    let oldest = null, made = 0
    for (let ty = Math.floor(y0 / side); ty * side <= y1; ty++) {
      for (let tx = Math.floor(x0 / side); tx * side <= x1; tx++) {
        const key = tx + "," + ty
        let tile = this.tiles.get(key)
        if (made < perFrame && (!tile || !tile.known && now - tile.at > look)) {
          this.tiles.set(key, tile = this.make(tx, ty, now))
          if (tile.known) made++
        }
        if (!tile) continue
        if (!oldest || tile.at < oldest.tile.at) oldest = { tile, key, tx, ty }
        if (!tile.known) {
          c.fillStyle = colours.unknown
          c.fillRect(tx * side, ty * side, side, side)
        }
        if (tile.some) {
          c.fillStyle = c.strokeStyle = colours.wall
          c.fill(tile.path)
          c.stroke(tile.path) // closes the seams between rectangles
        }
      }
    }
    if (oldest && now - this.checked > look) { // the ground may have changed
      this.checked = now
      this.tiles.set(oldest.key, this.make(oldest.tx, oldest.ty, now))
    }
    if (this.tiles.size > 2048) this.tiles.clear()
  }
}
