// The picture: the ground, everybody in sight, and what happens to them. The own player is in the middle.

import { colours, colourOf } from "./look.js"
import { plain } from "./text.js"

const widest = 330, least = 150, labels = 40 // cells; names at most

/** View is the canvas. */
export class View {
  scale = 4
  x = 0
  y = 0

  constructor(canvas) {
    this.canvas = canvas
    this.c = canvas.getContext("2d", { alpha: false })
  }

  /** fit makes the canvas as fine as the screen. */
  fit() {
    const ratio = Math.min(devicePixelRatio || 1, 3), w = innerWidth, h = innerHeight
    if (this.w !== w || this.h !== h || this.ratio !== ratio) {
      Object.assign(this, { w, h, ratio })
      this.canvas.width = Math.round(w * ratio)
      this.canvas.height = Math.round(h * ratio)
    }
    this.scale = Math.max(Math.max(w, h) / widest, Math.min(w, h) / (least * 1.6))
  }

  /** toScreen and toWorld turn places of the one into places of the other. In the world, y grows up. */
  toScreen(x, y) { return [this.w / 2 + (x - this.x) * this.scale, this.h / 2 - (y - this.y) * this.scale] }
  toWorld(px, py) { return [this.x + (px - this.w / 2) / this.scale, this.y - (py - this.h / 2) / this.scale] }

  /** draw makes a picture of a scene: { list, shots, own, walls, fight, guide, cooldown } and what says how things look */
  draw(s, now) {
    this.fit()
    const c = this.c
    if (s.own) this.follow(s.own)
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0)
    c.fillStyle = colours.floor
    c.fillRect(0, 0, this.w, this.h)
    this.ground(s, now)
    const others = s.list.filter(e => !e.own && e.x !== undefined)
    for (const e of others) if (s.role(e) === "shot" && !e.covered) this.shot(e, s, Number(e.sender) === s.ownId && s.ownId)
    for (const b of s.shots) this.shot(b, s, true)
    for (const e of others) if (s.role(e) !== "shot") this.body(e, s, now)
    if (s.own) this.body(s.own, s, now)
    this.names(others, s)
    this.marks(s, now)
    this.arrows(others, s)
    const hurt = now - (s.fight.lives.get(s.own?.id)?.flash ?? -1e9)
    if (hurt < 400) {
      c.strokeStyle = colours.bad
      c.globalAlpha = .7 * (1 - hurt / 400)
      c.lineWidth = 28
      c.strokeRect(0, 0, this.w, this.h)
      c.globalAlpha = 1
    }
  }

  /** follow keeps the own player in the middle. It jumps when that does. */
  follow(own) { this.x = own.x; this.y = own.y }

  ground(s, now) {
    const c = this.c, [x0, y1] = this.toWorld(0, 0), [x1, y0] = this.toWorld(this.w, this.h)
    const step = 32
    c.fillStyle = colours.dot
    for (let x = Math.ceil(x0 / step) * step; x <= x1; x += step) {
      for (let y = Math.ceil(y0 / step) * step; y <= y1; y += step) {
        const [px, py] = this.toScreen(x, y)
        c.fillRect(px - 1.5, py - 1.5, 3, 3)
      }
    }
    c.save()
    c.translate(this.w / 2, this.h / 2)
    c.scale(this.scale, -this.scale)
    c.translate(-this.x, -this.y)
    c.lineWidth = .6 / this.scale
    s.walls?.draw(c, x0, y0, x1, y1, now)
    c.restore()
  }

  circle(px, py, r, fill, line = "", width = 2) {
    const c = this.c
    c.beginPath()
    c.arc(px, py, r, 0, 2 * Math.PI)
    if (fill) { c.fillStyle = fill; c.fill() }
    if (line) { c.strokeStyle = line; c.lineWidth = width; c.stroke() }
  }

  shot(e, s, mine) {
    const [px, py] = this.toScreen(e.x, e.y), r = s.radius(e.like ?? e) * this.scale / 2
    this.circle(px, py, Math.max(r, 3), mine ? colours.mine : colours.ball, colours.floor, 1.5)
  }

  /** body draws a player, or anything else that is somewhere. */
  body(e, s, now) {
    const c = this.c, [px, py] = this.toScreen(e.x, e.y), r = Math.max(s.radius(e) * this.scale, 4)
    if (px < -r || py < -r || px > this.w + r || py > this.h + r) return
    const colour = e.own ? colours.mine : s.role(e) === "player" ? colourOf(e.dialect) : colours.faint
    c.globalAlpha = e.away ? .4 : 1
    if (s.role(e) === "thing") {
      this.thing(px, py, r, s.shape(e), colour)
    } else {
      this.circle(px, py, r, colour)
      c.strokeStyle = colours.floor // which way it looks
      c.lineWidth = Math.max(2, r / 6)
      c.beginPath()
      c.moveTo(px + Math.cos(e.heading) * r * .45, py - Math.sin(e.heading) * r * .45)
      c.lineTo(px + Math.cos(e.heading) * r * .95, py - Math.sin(e.heading) * r * .95)
      c.stroke()
    }
    const hit = now - (s.fight.lives.get(e.id)?.flash ?? -1e9)
    if (hit < 250) this.circle(px, py, r, "", colours.bad, e.own ? 6 : 3)
    if (e.own) this.ready(px, py, r, s)
    const most = s.fight.most.get(e.kind)
    if (most > 0 && e.health < most && !e.own) this.bar(px, py + r + 5, Math.max(2 * r, 24), e.health / most)
    c.globalAlpha = 1
  }

  /** thing draws the kinds of games that the page does not know: each has a number of corners. */
  thing(px, py, r, corners, colour) {
    const c = this.c
    c.beginPath()
    for (let i = 0; i < corners; i++) {
      const a = 2 * Math.PI * i / corners - Math.PI / 2
      c.lineTo(px + r * Math.cos(a), py + r * Math.sin(a))
    }
    c.closePath()
    c.fillStyle = colour
    c.fill()
  }

  /** ready draws the ring around the own player that is closed when it may throw again. */
  ready(px, py, r, s) {
    const c = this.c, left = s.cooldown
    c.lineWidth = 4
    c.strokeStyle = left > 0 ? colours.faint : colours.text
    c.beginPath()
    c.arc(px, py, r + 6, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * (1 - left))
    c.stroke()
  }

  bar(px, py, w, share) {
    const c = this.c
    c.fillStyle = colours.line
    c.fillRect(px - w / 2, py, w, 5)
    c.fillStyle = share > .3 ? colours.good : colours.bad
    c.fillRect(px - w / 2, py, w * Math.max(0, Math.min(share, 1)), 5)
  }

  text(t, px, py, colour, size = 14, bold = false) {
    const c = this.c
    c.font = `${bold ? 650 : 500} ${size}px system-ui, sans-serif`
    c.textAlign = "center"
    c.lineJoin = "round"
    c.lineWidth = 4
    c.strokeStyle = colours.floor
    c.strokeText(t, px, py)
    c.fillStyle = colour
    c.fillText(t, px, py)
  }

  /** names writes names over the nearest, as far as they do not cover each other. */
  names(others, s) {
    const taken = [], d = e => (e.x - this.x) ** 2 + (e.y - this.y) ** 2
    const list = others.filter(e => s.role(e) !== "shot").sort((a, b) => d(a) - d(b)).slice(0, labels)
    for (const e of list) {
      const name = e.name ? plain(e.name, 18) : s.role(e) === "thing" ? e.kind : ""
      const [px, py] = this.toScreen(e.x, e.y), at = py - Math.max(s.radius(e) * this.scale, 4) - 7
      if (!name || px < 0 || py < 0 || px > this.w || py > this.h + 20) continue
      const half = name.length * 4
      if (taken.some(t => Math.abs(t.x - px) < t.half + half && Math.abs(t.y - at) < 15)) continue
      taken.push({ x: px, y: at, half })
      this.text(e.away ? name + " (away)" : name, px, at, e.away ? colours.faint : colours.text)
    }
  }

  marks(s, now) {
    for (const m of s.fight.marks) {
      const [px, py] = this.toScreen(m.x, m.y), age = (now - m.at) / 900
      this.c.globalAlpha = 1 - age
      this.text(m.text, px, py - 20 - 30 * age, m.mine ? colours.bad : colours.good, 22, true)
      this.c.globalAlpha = 1
    }
  }

  /** arrows point from the border to players who are in sight of the server and out of the window. */
  arrows(others, s) {
    const c = this.c, edge = 34, written = []
    const out = others.filter(e => s.role(e) === "player").map(e => [e, ...this.toScreen(e.x, e.y), s.radius(e) * this.scale])
      .filter(([, px, py, r]) => px < -r || py < -r || px > this.w + r || py > this.h + r) // nothing of it is seen
      .sort((a, b) => Math.hypot(a[1] - this.w / 2, a[2] - this.h / 2) - Math.hypot(b[1] - this.w / 2, b[2] - this.h / 2)).slice(0, 6)
    if (s.guide) out.push([{ name: s.guide.name, dialect: "" }, ...this.toScreen(s.guide.x, s.guide.y)])
    for (const [e, px, py] of out) {
      const dx = px - this.w / 2, dy = py - this.h / 2
      const k = Math.min((this.w / 2 - edge) / Math.abs(dx || 1), (this.h / 2 - edge) / Math.abs(dy || 1))
      if (k >= 1) continue
      c.save()
      c.translate(this.w / 2 + dx * k, this.h / 2 + dy * k)
      const a = Math.atan2(dy, dx)
      c.rotate(a)
      c.beginPath()
      c.moveTo(26, 0)
      c.lineTo(-14, -18)
      c.lineTo(-6, 0)
      c.lineTo(-14, 18)
      c.closePath()
      c.fillStyle = e.dialect ? colourOf(e.dialect) : colours.mine
      c.strokeStyle = colours.floor
      c.lineWidth = 2
      c.fill()
      c.stroke()
      c.restore()
      const x = this.w / 2 + dx * k - Math.cos(a) * 54, y = this.h / 2 + dy * k - Math.sin(a) * 36 + 5
      if (written.some(w => Math.abs(w[0] - x) < 70 && Math.abs(w[1] - y) < 16)) continue
      written.push([x, y])
      this.text(plain(e.name || "somebody", 12), x, y, colours.text, 13, true)
    }
  }
}
