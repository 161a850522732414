// Ships in a browser: join, draw what the world has each frame, steer and fire.
import { join } from "/parley.js"

const pen = sea.getContext("2d"), scale = 4, pointer = { x: 0, y: 0 }
let world

// place returns where a body is on the canvas, whose middle is the own ship.
const place = (e, own) => [400 + scale * (e.x - own.x), 300 - scale * (e.y - own.y)]

function draw(now) {
  requestAnimationFrame(draw)
  const list = [...world.entities(now)], own = list.find((e) => e.own) ?? { x: 100, y: 100 }
  pen.clearRect(0, 0, 800, 600)
  pen.strokeStyle = "#1b5578"
  for (let i = 0; i <= 200; i += 20) { // the waters in which ships begin
    const [left, top] = place({ x: 0, y: 200 }, own), [x, y] = place({ x: i, y: i }, own)
    pen.strokeRect(left, y, 200 * scale, 0)
    pen.strokeRect(x, top, 0, 200 * scale)
  }
  for (const e of list) {
    const [x, y] = place(e, own)
    pen.fillStyle = e.own ? "#fd6" : "#eee"
    pen.save()
    pen.translate(x, y)
    pen.beginPath()
    if (e.kind === "ship") {
      pen.fillText(`${e.name ?? ""} ${e.health}`, -16, -14)
      pen.rotate(-e.heading)
      for (const [px, py] of [[12, 0], [-8, 6], [-8, -6]]) pen.lineTo(px, py)
    } else pen.arc(0, 0, 3, 0, 7)
    pen.fill()
    pen.restore()
  }
}

// aim returns the direction from the own ship, which is in the middle, to the pointer. Angles turn to the left, and y is up.
const aim = () => Math.atan2(300 - pointer.y, pointer.x - 400)

function steer(e) {
  pointer.x = e.offsetX * sea.width / sea.clientWidth
  pointer.y = e.offsetY * sea.height / sea.clientHeight
  world?.steer(aim(), e.buttons ? 3 : 0)
}

for (const what of ["pointerdown", "pointermove", "pointerup", "pointerleave"]) sea.addEventListener(what, steer)
addEventListener("keydown", (e) => { if (e.code === "Space" && !e.repeat) world?.act("fire", { angle: aim() }) })

try {
  world = await join(location.origin, { name: "sailor" + Math.floor(Math.random() * 1000), onstate: (s, text) => { if (text) said.textContent = `${s}: ${text}` } })
  addEventListener("pagehide", () => world.leave())
  requestAnimationFrame(draw)
} catch (e) {
  said.textContent = e.message // a sentence that can be shown
}
