// What is solid, as shapes: the ground is cut into tiles, and a tile is made once and looked at again from time to time.

import { colours } from "./look.js"

const side = 64, look = 250

/** Walls draws the terrain of a world. */
export class Walls {
  tiles = new Map() // by place: { path, known, at }
  checked = 0

  constructor(world) {
    this.world = world
    const solid = world.schema?.solid
    this.solid = solid ? new Set(solid) : null
  }

  /** stops reports whether a cell stops bodies; undefined if it is not known. */
  stops(x, y) {
    const v = this.world.terrain?.at(x, y)
    return v === undefined ? undefined : this.solid ? this.solid.has(v) : v !== 0
  }

  /** make cuts a tile into rectangles: runs of a row, which grow down as long as the next row has the same run. */
  make(tx, ty, now) {
    const path = new Path2D(), open = new Map()
    let known = true, solids = 0
    const close = (key, run) => { path.rect(run.x, run.y, run.w, run.h); open.delete(key) }
    for (let y = 0; y < side; y++) {
      const seen = new Set()
      for (let x = 0; x < side;) {
        const v = this.stops(tx * side + x + .5, ty * side + y + .5)
        if (v === undefined) known = false
        if (!v) { x++; continue }
        let w = 1
        while (x + w < side && this.stops(tx * side + x + w + .5, ty * side + y + .5)) w++
        solids += w
        const key = x * 256 + w, run = open.get(key)
        if (run) run.h++
        else open.set(key, { x: tx * side + x, y: ty * side + y, w, h: 1 })
        seen.add(key)
        x += w
      }
      for (const [key, run] of open) if (!seen.has(key)) close(key, run)
    }
    for (const [key, run] of open) close(key, run)
    return { path, known, at: now, some: solids > 0 }
  }

  /** draw fills what is solid between two corners of the world. The context has the world's coordinates. */
  draw(c, x0, y0, x1, y1, now) {
    let oldest = null
    for (let ty = Math.floor(y0 / side); ty * side <= y1; ty++) {
      for (let tx = Math.floor(x0 / side); tx * side <= x1; tx++) {
        const key = tx + "," + ty
        let tile = this.tiles.get(key)
        if (!tile) this.tiles.set(key, tile = this.make(tx, ty, now))
        if (!tile.known && now - tile.at > look) this.tiles.set(key, tile = this.make(tx, ty, now))
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
