// The picture against that of the Go client: a run that play/picture's TestRecordedRun has recorded is played to this library. It is to
// send the same inputs for the same ticks, and to draw the same bodies in the same places. After a change of the Go client the run is recorded
// anew: go test ./play/picture -run RecordedRun -record
import test from "node:test"
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { parse } from "../src/codec.ts"
import { Picture } from "../src/picture.ts"
import { remainder } from "../src/pace.ts"

// How far the two may be apart, in cells, ticks and radians. Both reckon in doubles, and the file has five digits.
const tolerance = { own: 1e-3, others: 1e-3, tick: 1e-3, angle: 1e-3 }

const { schema, lines } = JSON.parse(readFileSync(new URL("fixtures/picture.json", import.meta.url), "utf8"))
const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"))

/** packet makes a whole packet of the part of it that is recorded. */
const packet = (head, part) => parse("server", new Uint8Array([...head, ...bytes(part)]))

/** replay plays the run, and hands each frame and each input that was sent to compare. */
function replay(options, compare) {
  const p = new Picture(schema, { name: "ann", ...options }), sent = []
  for (const [what, now, ...more] of lines) {
    if (what !== "sent") {
      assert.deepEqual(sent, [], `at ${now} ms: inputs that the Go client has not sent`)
    }
    switch (what) {
      case "connected": p.connected(now, (_mode, name, data) => { if (name === "steer") sent.push(Buffer.from(data).toString("base64")); return true }); break
      case "linked": p.read(now, { kind: "linked", table: packet([4, 3, 0, 0, 1, 0], more[0]) }); break
      case "message": p.read(now, { kind: "message", name: more[1], number: more[0], data: bytes(more[2]) }); break
      case "values": p.read(now, { kind: "replicated", number: more[0], values: packet([5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], more[1]) }); break
      case "gone": p.read(now, { kind: "gone", number: more[0], link: more[1], id: more[2] }); break
      case "steer": p.steer(now, more[0], more[1]); break
      case "timeout": p.handleTimeout(now); break
      case "sent": compare.sent?.(now, sent.shift(), more[0]); break
      case "frame": compare.frame(p, now, ...more); break
      default: assert.fail(`a line ${what}`)
    }
    if (!compare.sent) sent.length = 0
  }
  return p
}

test("it draws and sends what the Go client does", () => {
  const worst = { own: 0, others: 0, tick: 0, angle: 0 }, count = { frames: 0, own: 0, others: 0, sent: 0 }
  const apart = (what, at, a, b) => {
    const off = Math.abs(a - b)
    worst[what] = Math.max(worst[what], off)
    assert.ok(off <= tolerance[what], `${at}: ${what}: ${a}, and the Go client has ${b}`)
  }
  const p = replay({}, {
    sent(now, got, want) {
      assert.equal(got, want, `at ${now} ms: an input`)
      count.sent++
    },
    frame(p, now, tick, ownTick, own, bodies) {
      const list = [...p.entities(now)].sort((a, b) => a.id - b.id), at = `frame at ${now} ms`
      assert.deepEqual(list.map((e) => e.id), bodies.map((b) => b[0]), `${at}: the bodies`)
      if (p.tick > 0) apart("tick", at, p.tick, tick)
      apart("tick", at, p.ownTick, ownTick)
      assert.equal(list.find((e) => e.own)?.id ?? 0, own, `${at}: the own entity`)
      bodies.forEach(([id, x, y, angle], i) => {
        const what = id === own ? "own" : "others"
        apart(what, `${at}, ${id}`, list[i].x, x)
        apart(what, `${at}, ${id}`, list[i].y, y)
        apart("angle", `${at}, ${id}`, remainder(list[i].heading - angle), 0)
        count[what]++
      })
      count.frames++
    },
  })
  assert.ok(count.frames > 200 && count.own > 200 && count.others > 500 && count.sent > 150, JSON.stringify(count))
  assert.ok(p.stats.wrong > 0 && p.stats.snapped > 0, `the run has wrong guesses: ${JSON.stringify(p.stats)}`)
  console.log(`# ${JSON.stringify(count)}, at most apart: ${JSON.stringify(worst)}`)
})

test("a wrong rule is found: the comparison can fail", () => {
  let off = 0
  const lazy = (b, input) => { if (input.steer) Object.assign(b, { heading: input.steer.angle, speed: input.steer.norm }) } // it never moves
  replay({ predict: lazy }, {
    frame(p, now, _tick, _ownTick, own, bodies) {
      const e = [...p.entities(now)].find((e) => e.own), b = bodies.find((b) => b[0] === own)
      if (e && b && Math.hypot(e.x - b[1], e.y - b[2]) > tolerance.own) off++
    },
  })
  assert.ok(off > 50, `${off} frames`)
})

test("nothing of a server before is drawn after another has told its world", () => {
  const told = (name) => lines.find((l) => l[0] === "message" && l[3] === name), values = lines.find((l) => l[0] === "values"), first = lines.find((l) => l[0] === "frame")
  const p = replay({}, { frame() {} })
  let now = lines.at(-1)[1]
  const before = [...p.entities(now)].map((e) => e.id), world = bytes(told("parley.world")[4]), tick = bytes(told("parley.tick")[4])
  assert.ok(before.length > 2, `${before}`)
  p.lost()
  now += 1000
  assert.equal([...p.entities(now)].length, before.length, "while nobody is there, all stay")
  p.connected(now, () => true)
  new DataView(world.buffer).setUint32(10, 210, true) // it has come further than the one before, which was killed at 200
  p.read(now, { kind: "linked", table: packet([4, 3, 0, 0, 1, 0], lines[1][2]) })
  p.read(now, { kind: "message", name: "parley.world", number: 101, data: world })
  assert.deepEqual([...p.entities(now)].filter((e) => !e.own), [], "it has told its world, and nobody in it")
  for (let i = 0; i < 8; i++) {
    new DataView(tick.buffer).setUint32(0, 211 + i, true)
    p.read(now, { kind: "message", name: "parley.tick", number: 102 + 2 * i, data: tick })
    if (i === 0) p.read(now, { kind: "replicated", number: 103, values: packet([5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], values[3]) })
    for (const e of p.entities(now)) {
      const is = first[5].find((b) => b[0] === e.id)
      assert.ok(e.own || is && Math.hypot(e.x - is[1], e.y - is[2]) < .01, `tick ${i}: ${e.id} at ${e.x}, ${e.y}`)
    }
    now += 50
  }
  assert.equal([...p.entities(now)].filter((e) => !e.own).length, 3)
})
