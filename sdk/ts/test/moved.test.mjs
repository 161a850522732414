// A server that is emptied tells a page where to go on.
import test from "node:test"
import assert from "node:assert/strict"
import { createServer } from "node:http"
import net from "node:net"
import { join } from "../src/world.ts"
import { serve, until } from "./server.mjs"

/** listen returns the address of a server on loopback. */
const listen = (s) => new Promise((done) => s.listen(0, "127.0.0.1", () => done(`127.0.0.1:${s.address().port}`)))

/** tell has a world read what a server says that is emptied, and then end the connection without a goodbye. */
function moved(world, addresses) {
  const c = world.connection
  c.endpoint.events.push({ kind: "message", name: "parley.moved", data: new TextEncoder().encode(addresses) })
  c.run()
  assert.ok(world.say("said between two servers"))
  c.transport.close()
}

test("a page goes on where it is told, and comes home from where it is not", { timeout: 120_000 }, async () => {
  const server = await serve()
  const asked = [], sockets = new Set()
  const stranger = createServer((req, res) => {
    asked.push([req.url, req.headers])
    res.writeHead(404).end()
  })
  // The other server of a cluster: here it is a way to the same one.
  const other = net.createServer((from) => {
    const to = net.connect({ host: "127.0.0.1", port: Number(server.addresses.play.split(":")[1]) })
    for (const [a, b] of [[from, to], [to, from]]) {
      sockets.add(a)
      a.pipe(b)
      a.on("error", () => b.destroy())
    }
  })
  const heard = []
  let world
  try {
    const [strange, there] = [await listen(stranger), await listen(other)]
    world = await join(server.url, { name: "ann", carrier: "ws" })
    world.on("chat", (ev) => heard.push(ev.text))
    await until(() => "an entity and a token", () => world.ownId && world.session)
    const id = world.ownId
    for (const [told, want] of [[there, `http://${there}`], [strange, server.url], [`${strange},${there}`, `http://${there}`]]) {
      const before = world.session, lines = heard.length
      moved(world, told)
      await until(() => `a new token, told ${told}: ${world.state}`, () => world.state === "playing" && world.session !== before)
      assert.equal(world.base, want)
      await until(() => "its entity", () => world.ownId === id)
      await until(() => "what was said meanwhile", () => heard.length > lines)
    }
    assert.equal(heard.length, 3)
    assert.deepEqual(asked.map(([url]) => url), ["/play/server", "/play/server"], "a stranger is asked once each time")
    assert.ok(!JSON.stringify(asked).includes(world.session))
  } finally {
    world?.leave()
    stranger.close()
    other.close()
    for (const s of sockets) s.destroy()
    await server.end()
  }
})
