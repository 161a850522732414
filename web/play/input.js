// What the player does: keys, mouse, fingers. It ends in a direction to walk in, throws, and the wish to speak.

import { el } from "./text.js"

const walks = { KeyW: [0, 1], ArrowUp: [0, 1], KeyS: [0, -1], ArrowDown: [0, -1], KeyA: [-1, 0], ArrowLeft: [-1, 0], KeyD: [1, 0], ArrowRight: [1, 0] }
const reach = 55, dead = 10 // of the stick, in points

/** Input listens. walk(x, y), point(px, py), act() and chat() are called for what the player wants. */
export class Input {
  held = new Set()
  stick = null // { id, x, y }
  x = 0
  y = 0

  constructor(canvas, to) {
    this.to = to
    addEventListener("keydown", e => this.key(e))
    addEventListener("keyup", e => { if (this.held.delete(e.code)) this.walk() })
    addEventListener("blur", () => this.release())
    document.addEventListener("visibilitychange", () => document.hidden && this.release())
    canvas.addEventListener("pointerdown", e => this.down(e, canvas))
    canvas.addEventListener("pointermove", e => this.move(e))
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, e => this.up(e))
    canvas.addEventListener("contextmenu", e => e.preventDefault())
  }

  key(e) {
    if (!this.to.playing() || e.ctrlKey || e.metaKey || e.altKey || e.target instanceof HTMLInputElement) return
    const button = e.target instanceof HTMLButtonElement
    if (walks[e.code]) {
      this.held.add(e.code)
      this.walk()
    } else if (e.code === "Space" && !button) {
      if (!e.repeat) this.to.act()
    } else if ((e.code === "Enter" || e.code === "NumpadEnter") && !button) this.to.chat()
    else return
    e.preventDefault()
  }

  release() {
    this.held.clear()
    this.endStick()
    this.walk()
  }

  down(e, canvas) {
    canvas.focus({ preventScroll: true })
    if (!this.to.playing()) return
    if (e.pointerType === "touch" && !this.stick && e.clientX < innerWidth / 2) {
      this.stick = { id: e.pointerId, x: e.clientX, y: e.clientY }
      canvas.setPointerCapture(e.pointerId)
      this.show(e.clientX, e.clientY)
    } else if (e.button === 0) this.to.point(e.clientX, e.clientY)
    e.preventDefault()
  }

  move(e) {
    if (this.stick?.id !== e.pointerId) return
    let dx = e.clientX - this.stick.x, dy = e.clientY - this.stick.y
    const d = Math.hypot(dx, dy)
    if (d > reach) { dx *= reach / d; dy *= reach / d }
    this.show(this.stick.x + dx, this.stick.y + dy)
    this.stick.way = d < dead ? null : [dx / d, -dy / d]
    this.walk()
  }

  up(e) {
    if (this.stick?.id !== e.pointerId) return
    this.endStick()
    this.walk()
  }

  endStick() {
    this.stick = null
    el("stick").hidden = true
  }

  show(x, y) {
    const stick = el("stick"), knob = el("knob")
    stick.hidden = false
    stick.style.setProperty("left", this.stick.x - 60 + "px")
    stick.style.setProperty("top", this.stick.y - 60 + "px")
    knob.style.setProperty("left", 35 + x - this.stick.x + "px")
    knob.style.setProperty("top", 35 + y - this.stick.y + "px")
  }

  /** walk tells a new direction; a length of 0 is to stand. */
  walk() {
    let x = 0, y = 0
    for (const code of this.held) [x, y] = [x + walks[code][0], y + walks[code][1]]
    if (!x && !y && this.stick?.way) [x, y] = this.stick.way
    const d = Math.hypot(x, y)
    if (d > 0) [x, y] = [x / d, y / d]
    if (x === this.x && y === this.y) return
    this.x = x
    this.y = y
    this.to.walk(x, y)
  }
}
