// A page that is typed by its game compiles, and one that asks for what the game has not does not.
import test from "node:test"
import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { program } from "./server.mjs"

const page = `
import * as parley from "./parley.js"
import { game } from "./game.ts"

const world = await parley.join("http://localhost:8000", { name: "ann", game })
const same: parley.World<typeof game> = await parley.join<typeof game>("http://localhost:8000")
same.leave()
world.act("throw", { angle: 1 })
world.act("throw", { angle: 1, entity: 2 })
// @ts-expect-error there is no such action
world.act("jump", {})
// @ts-expect-error the angle is missing
world.act("throw", {})
// @ts-expect-error the angle is a number
world.act("throw", { angle: "left" })
for (const e of world.entities(performance.now())) {
  const at: number = e.x + e.y + e.heading + e.speed + e.id
  if (e.kind === "player") console.log(at, e.health + e.cooldown_one, e.name)
  else console.log(e.sender)
  // @ts-expect-error a ball has no health
  if (e.kind === "ball") console.log(e.health)
}
world.on("chat", (line) => console.log(line.name + line.text))
const off: () => void = world.on("acted", (done) => { if (done.action === "throw") console.log(done.params.angle) })
off()
const cell: number | undefined = world.terrain.at(1, 2)
const any = await parley.join("http://localhost:8000", { predict: (body, input) => { body.x += input.steer?.norm ?? 0 } })
any.act("whatever", { it: 1 })
for (const e of any.entities()) console.log(e.whatever, cell, world.own?.kind, world.players.length, world.rtt + world.loss + world.tickRate)
`

test("a page is typed by its game", () => {
  const dir = mkdtempSync(join(tmpdir(), "parley-types-")), root = new URL("..", import.meta.url).pathname
  try {
    writeFileSync(join(dir, "game.ts"), execFileSync(program(dir), ["schema", "--ts"]))
    writeFileSync(join(dir, "page.ts"), page)
    writeFileSync(join(dir, "package.json"), `{"type": "module"}`)
    copyFileSync(join(root, "../../web/play/parley.js"), join(dir, "parley.js"))
    copyFileSync(join(root, "../../web/play/parley.d.ts"), join(dir, "parley.d.ts"))
    const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2023,dom,dom.iterable", "--allowImportingTsExtensions"]
    const got = spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...options, "page.ts"], { cwd: dir, encoding: "utf8" })
    assert.equal(got.stdout, "")
    assert.equal(got.status, 0)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
})
