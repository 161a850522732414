// How a game ends for a player: what a page is told of it, and that nobody is left behind.
import test from "node:test"
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { join as path } from "node:path"
import { join } from "../src/world.ts"
import { openWebSocket } from "../src/transport.ts"
import { serve, until } from "./server.mjs"

/** end returns how a world ends. */
const end = (world) => new Promise((done) => world.on("ended", done))

// The words of an operator may be those of the library: what an end means does not depend on them.
test("a kick and a ban are the end, whatever their reasons are", { timeout: 60_000 }, async () => {
  const server = await serve()
  const operator = (...args) => execFileSync(server.bin, [...args, "--server", `http://${server.addresses.web}`, "--token-file", path(server.dir, "data", "operator.token")])
  try {
    for (const reason of ["timeout, cool down", "no such session", "server closing soon", ""]) {
      const world = await join(server.url, { name: "ann", carrier: "ws" })
      const over = end(world)
      await until(() => "a token", () => world.session)
      const [{ id }] = JSON.parse(operator("players", "--json")).players
      operator("kick", "main", String(id), ...(reason ? ["--reason", reason] : []))
      const { fate, text } = await over
      assert.equal(fate, "over", `${reason}: ${text}`)
      if (reason) assert.equal(text, reason)
    }
    const world = await join(server.url, { name: "ann", carrier: "ws" })
    const over = end(world)
    await until(() => "a token", () => world.session)
    operator("ban", "127.0.0.1", "--reason", "timeout")
    assert.deepEqual(await over, { type: "ended", fate: "over", text: "banned: timeout" })
  } finally {
    await server.end()
  }
})

test("an error of join says whether to try again", { timeout: 60_000 }, async () => {
  const server = await serve(["--max-players", "1"])
  const fate = (options) => join(server.url, { carrier: "ws", ...options }).then((w) => w.leave(), (e) => e.fate)
  try {
    assert.equal(await fate({ room: "nowhere" }), "refused")
    assert.equal(await fate({ session: "00".repeat(16) }), "refused")
    const world = await join(server.url, { name: "ann", carrier: "ws" })
    assert.equal(await fate({ name: "bob" }), "busy")
    assert.equal(await fate({ match: "x".repeat(300) }), "over")
    world.leave()
    await server.stop()
    assert.equal(await fate({ name: "bob" }), "lost")
  } finally {
    await server.end()
  }
})

// A player who leaves while its page is coming back does not stay in the game until its place is no longer held.
test("who leaves while it comes back is gone", { timeout: 60_000 }, async () => {
  const server = await serve()
  const links = []
  let ann, bob
  const open = async () => {
    const t = await openWebSocket(server.url.replace("http", "ws") + "/ws/replica", 5000)
    links.push(t)
    if (links.length === 2) {
      const { send } = t
      t.send = (b) => {
        t.send = send
        send(b)
        ann.leave() // its handshake has begun
      }
    }
    return t
  }
  try {
    bob = await join(server.url, { name: "bob", carrier: "ws" })
    ann = await join(server.url, { name: "ann", open })
    await until(() => "both", () => ann.session && bob.players.length === 2)
    await new Promise((done) => setTimeout(done, 300)) // until the token is acknowledged
    links[0].onmessage = () => {}
    links[0].close()
    await until(() => "a second connection", () => links.length === 2)
    await until(() => `ann to be gone: ${JSON.stringify(bob.players)}`, () => bob.players.length === 1, 8_000)
    assert.equal(ann.state, "ended")
  } finally {
    ann?.leave()
    bob?.leave()
    await server.end()
  }
})
