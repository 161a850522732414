// T76: players of the library on the real server, over datagrams through a network that loses, delays and reorders them, and over
// WebSockets that stall: nothing is lost, doubled
// or out of order; a goodbye is one, and a lost connection comes back as the same player. SEED=n runs one seed.
import test from "node:test"
import assert from "node:assert/strict"
import { join } from "../src/index.ts"
import { openWebSocket } from "../src/transport.ts"
import { full, tally } from "./kit.mjs"
import { pause, serve, until } from "./server.mjs"
import { impaired, openUDP, random } from "./udp.mjs"

const seeds = process.env.SEED ? [Number(process.env.SEED)] : Array.from({ length: full ? 200 : 20 }, (_, i) => i + 1)
const lines = 6, atOnce = 10

/** way returns how the players of a seed get to the server: over UDP, and over a WebSocket if the seed is even. */
function way(server, seed, side, links) {
  return async () => {
    const port = Number(server.addresses.replica.split(":").at(-1))
    const inner = seed % 2 === 0
      ? await openWebSocket(server.url.replace("http", "ws") + "/ws/replica", 5000)
      : await openUDP("127.0.0.1", port)
    const t = impaired(inner, { seed: seed * 1000 + side + 10 * links.length, loss: .05, delay: 40, jitter: 20, reorder: .05 })
    links.push(t)
    return t
  }
}

async function play(server, answer, seed) {
  const rnd = random(seed), names = [`a${seed}`, `b${seed}`], links = [[], []], heard = [[], []], states = [[], []], left = [], acted = []
  const worlds = []
  for (const side of [0, 1]) {
    const w = await join(server.url, { name: names[side], server: answer, open: way(server, seed, side, links[side]), onstate: (s) => states[side].push(s) })
    w.on("chat", (e) => { if (e.text.startsWith(`${seed}:`)) heard[side].push(`${e.name} ${e.text}`) })
    w.on("left", (e) => { if (side === 1) left.push(e.name) })
    w.on("acted", (e) => { if (side === 0 && e.own) acted.push(e.action) })
    worlds.push(w)
  }
  const [a, b] = worlds, said = [[], []]
  try {
    await until(() => `seed ${seed}: entities of both`, () => a.ownId && b.ownId && a.own && b.own)
    const id = a.ownId, name = a.name, token = a.session
    assert.equal(name, names[0])
    a.act("throw", { angle: rnd() * 6 })
    const resumes = seed % 4 === 1 || seed % 4 === 2 // half of those of each carrier
    assert.equal(a.carrier, seed % 2 ? "udp" : "ws")
    for (let i = 0; i < lines; i++) {
      for (const side of [0, 1]) {
        const text = `${seed}:${side}:${i}`
        said[side].push(`${names[side]} ${text}`)
        assert.ok(worlds[side].say(text))
      }
      a.steer(rnd() * 6, rnd() < .3 ? 0 : 2)
      if (resumes && i === 3) {
        // What the server has not confirmed is not sent again, so all of it must have arrived before.
        await until(() => `seed ${seed}: ${heard[1]}`, () => heard[1].length + heard[0].length >= 4 * 4)
        links[0].at(-1).cut()
        await until(() => `seed ${seed}: away`, () => a.state === "away")
      }
      await pause(230)
    }
    await until(() => `seed ${seed}: back, and it is ${a.state}`, () => a.state === "playing")
    const both = said[0].length + said[1].length
    await until(() => `seed ${seed}: all lines; ${heard[1].length} and ${heard[0].length} of ${both}`, () => heard[1].length >= both && (resumes || heard[0].length >= both))
    await pause(300) // one that comes twice would come now
    for (const side of [0, 1]) {
      assert.deepEqual(heard[1].filter((l) => l.startsWith(names[side])), said[side], `seed ${seed}: what b has heard`)
      const own = heard[0].filter((l) => l.startsWith(names[side]))
      // What others say while a player is away is not kept for it.
      if (resumes) assert.deepEqual(own, said[side].filter((l) => own.includes(l)), `seed ${seed}: what a has heard, in order`)
      else assert.deepEqual(own, said[side], `seed ${seed}: what a has heard`)
    }
    assert.equal(acted.length, 1, `seed ${seed}: the throw is done once`)
    assert.equal(a.ownId, id, `seed ${seed}: the same entity`)
    assert.equal(a.name, name)
    assert.ok(!resumes || a.session !== token, `seed ${seed}: a new token`)
    // Both see the same body in the same place, once it stands.
    a.steer(0, 0)
    await until(() => `seed ${seed}: where b sees a: ${JSON.stringify(b.entities().find((e) => e.id === id))}, and a sees itself: ${JSON.stringify(a.own)}`, () => {
      const is = b.entities().find((e) => e.id === id)
      a.entities()
      return !is || Math.hypot(is.x - a.own.x, is.y - a.own.y) < .01
    })
    a.leave()
    await until(() => `seed ${seed}: the goodbye`, () => left.includes(name), 10_000)
    assert.ok(!b.players.some((p) => p.name === name), `seed ${seed}: a is gone`)
    assert.deepEqual(states[0], resumes ? ["connecting", "playing", "away", "playing", "ended"] : ["connecting", "playing", "ended"])
  } finally {
    a.leave()
    b.leave()
  }
}

test("T76: nothing is lost, doubled or out of order", { timeout: 900_000 }, async () => {
  const server = await serve(["--per-address", "-1"])
  try {
    const answer = await (await fetch(server.url + "/play/server")).json()
    const rest = [...seeds]
    await Promise.all(Array.from({ length: atOnce }, async () => {
      for (let seed = rest.shift(); seed !== undefined; seed = rest.shift()) await play(server, answer, seed)
    }))
    tally("T76", "seeds", seeds.length, ".ci/sdk")
  } catch (e) {
    e.message += `\nseed=… runs one alone: SEED=n npm test\n${server.log.slice(-2000)}`
    throw e
  } finally {
    await server.end()
  }
})

test("where WebTransport does not come through, it is a WebSocket", { timeout: 60_000 }, async () => {
  const server = await serve(), tried = []
  const nothing = new Promise(() => {})
  // What browsers do where UDP is blocked: the one is refused, the other never ready; and one is ready, but nothing comes back.
  const ways = { refused: () => ({ ready: Promise.reject(new Error("blocked")), closed: nothing }), silent: () => ({ ready: nothing, closed: nothing }),
    deaf: () => ({ ready: Promise.resolve(), closed: nothing, datagrams: { writable: new WritableStream(), readable: new ReadableStream() } }) }
  const was = globalThis.WebTransport
  try {
    for (const [name, make] of Object.entries(ways)) {
      globalThis.WebTransport = function (url, options) {
        tried.push([name, url])
        assert.ok(options.serverCertificateHashes.length > 0)
        return Object.assign(make(), { close() {} })
      }
      const w = await join(server.url, { name })
      try {
        assert.equal(w.carrier, "ws", name)
        await until(() => `${name}: its own entity`, () => w.own)
        assert.equal(w.loss, 0)
        assert.equal(tried.filter(([n]) => n === name).length, 1, `${name}: ${tried}`)
      } finally {
        w.leave()
      }
    }
    globalThis.WebTransport = undefined
    const w = await join(server.url, { name: "without" })
    assert.equal(w.carrier, "ws")
    w.leave()
  } finally {
    globalThis.WebTransport = was
    await server.end()
  }
})
