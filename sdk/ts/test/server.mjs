// A server of the repository for tests: it is built, started and stopped.
import { execFileSync, spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const root = new URL("../../../", import.meta.url).pathname

/** program returns the program parley, which is built if PARLEY_BIN does not say where it is. */
export function program(dir) {
  if (process.env.PARLEY_BIN) return process.env.PARLEY_BIN
  const bin = join(dir, "parley")
  execFileSync("go", ["build", "-buildvcs=false", "-o", bin, "./cmd/parley"], { cwd: root, stdio: "inherit" })
  return bin
}

/** serve starts a server with replica and --play on ports of the system's choice. */
export async function serve(more = []) {
  const dir = mkdtempSync(join(tmpdir(), "parley-sdk-"))
  const bin = program(dir), ready = join(dir, "ready.json"), s = { dir, bin, child: null, log: "" }
  s.start = async (addresses) => {
    rmSync(ready, { force: true })
    const args = ["serve", "--ready-file", ready, "--data", join(dir, "data"), "--log-level", "warn", "--play", addresses?.play ?? "127.0.0.1:0", "--replica", addresses?.replica ?? "127.0.0.1:0", "--web", "127.0.0.1:0"]
    for (const d of ["stamp", "relay", "duplex", "realm", "realm-time"]) args.push(`--${d}`, "off")
    s.child = spawn(bin, [...args, ...more], { stdio: ["ignore", "pipe", "pipe"] })
    for (const out of [s.child.stdout, s.child.stderr]) out.on("data", (b) => { s.log += b })
    const until = Date.now() + 60_000
    while (!existsSync(ready)) {
      if (Date.now() > until || s.child.exitCode !== null) throw new Error(`the server did not start:\n${s.log}`)
      await pause(30)
    }
    await pause(30) // the file is written whole before it is there under its name
    const said = JSON.parse(readFileSync(ready, "utf8"))
    s.addresses = { play: said.play, replica: said.dialects?.replica ?? said.replica, web: said.web }
    s.url = `http://${said.play}`
  }
  s.stop = async (signal = "SIGTERM") => {
    if (!s.child || s.child.exitCode !== null) return
    const over = new Promise((done) => s.child.once("exit", done))
    s.child.kill(signal)
    await Promise.race([over, pause(10_000).then(() => s.child.kill("SIGKILL"))])
    await over
  }
  s.end = async () => {
    await s.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  await s.start()
  return s
}

/** pause waits for some ms. */
export const pause = (ms) => new Promise((done) => setTimeout(done, ms))

/** until waits for a condition, and fails with a text after a while. */
export async function until(what, condition, ms = 20_000) {
  const end = Date.now() + ms
  while (!condition()) {
    if (Date.now() > end) throw new Error(`waited ${ms} ms for ${what()}`)
    await pause(10)
  }
}
