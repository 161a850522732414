// All vectors of replica, both ways: what is valid is read to what the vector says and written to the same bytes; what is not is refused.
import test from "node:test"
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { dataTypes, parse, write, Malformed } from "../src/codec.ts"
import { Writer } from "../src/wire.ts"
import { tally } from "./kit.mjs"

const path = new URL("../../../protocol/replica/core/testdata/vectors.json", import.meta.url)
// Times have up to 64 bits, which a JSON number in JavaScript has not.
const vectors = JSON.parse(readFileSync(path, "utf8").replace(/("(?:received|sent|timestamp)": )(\d+)/g, '$1"$2n"'), (_, v) => (typeof v === "string" && /^\d+n$/.test(v) ? BigInt(v.slice(0, -1)) : v))
const hex = (b) => Buffer.from(b).toString("hex")
const bytes = (s) => new Uint8Array(Buffer.from(s, "hex"))

// said is a packet in the words of the vectors.
function said(p) {
  const { packet } = p, o = { packet }
  if (packet === "bundle") return { packet, packets: p.packets.map(said) }
  const link = packet.startsWith("link.")
  if (link || packet.startsWith("connect.") || packet === "disconnect" || packet === "replicate" || packet === "message") {
    o.reliable = link || p.reliable
    o.ordered = link || !!p.ordered
  }
  for (const [name, to] of [["sequence"], ["received"], ["sent"], ["syncInterval", "sync_interval_us"], ["reason"], ["acked"], ["first"], ["count"], ["timestamp"], ["name"]]) {
    if (name in p) o[to ?? name] = p[name]
  }
  for (const [name, to] of [["orderLink", "order_link"], ["more"], ["extended"]]) if (p[name]) o[to ?? name] = p[name]
  if (packet === "message") o.data = hex(p.data)
  const typed = (v) => ({ link: v.link, type: dataTypes[v.type], name: v.name })
  if (packet === "link.table") {
    o.variables = p.variables.map(typed)
    o.entities = p.entities.map((e) => ({ link: e.link, name: e.name, variables: e.variables.map(typed) }))
  }
  if (packet === "replicate") {
    o.entities = p.entities.map((e) => ({ link: e.link, variables: e.variables.map((v) => ({ link: v.link, values: v.values.map((x) => ({ entity: x.entity, data: hex(x.data) })) })) }))
    o.variables = p.variables.map((v) => ({ link: v.link, data: hex(v.data) }))
  }
  return o
}

// heard is said backwards.
function heard(o) {
  if (o.packet === "bundle") return { packet: o.packet, packets: o.packets.map(heard) }
  const typed = (v) => ({ link: v.link, type: dataTypes.indexOf(v.type), name: v.name })
  const p = { orderLink: 0, more: false, extended: false, ...o, orderLink: o.order_link ?? 0, syncInterval: o.sync_interval_us }
  if (o.packet === "message") p.data = bytes(o.data)
  if (o.packet === "link.table") {
    p.variables = o.variables.map(typed)
    p.entities = o.entities.map((e) => ({ ...e, variables: e.variables.map(typed) }))
  }
  if (o.packet === "replicate") {
    p.entities = o.entities.map((e) => ({ link: e.link, variables: e.variables.map((v) => ({ link: v.link, values: v.values.map((x) => ({ entity: x.entity, data: bytes(x.data) })) })) }))
    p.variables = o.variables.map((v) => ({ link: v.link, data: bytes(v.data) }))
  }
  return p
}

test("all vectors, both ways", () => {
  for (const v of vectors) {
    if (v.error) {
      assert.throws(() => parse(v.from, bytes(v.hex)), Malformed, `${v.name}: ${v.error}`)
      continue
    }
    const p = parse(v.from, bytes(v.hex))
    assert.deepEqual(said(p), v.packet, v.name)
    assert.equal(hex(write(p)), v.hex, v.name)
    assert.equal(hex(write(heard(v.packet))), v.hex, v.name + ", from its words")
  }
  assert.ok(vectors.length >= 50, `${vectors.length} vectors`)
  tally("T76", "vectors", vectors.length, ".ci/sdk")
})

test("every strict prefix and every further byte is refused", () => {
  for (const v of vectors) {
    if (v.error) continue
    const b = bytes(v.hex)
    for (let n = 0; n < b.length; n++) {
      // "One shorter form is read and never written: a connect.reject of 5 bytes."
      if (v.packet.packet === "connect.reject" && n === 5) continue
      if (v.packet.packet === "bundle" && n > 5) {
        // A bundle that ends behind one of its packets is a bundle.
        try { assert.equal(hex(write(parse(v.from, b.subarray(0, n)))), hex(b.subarray(0, n))) } catch (e) { assert.ok(e instanceof Malformed, String(e)) }
        continue
      }
      assert.throws(() => parse(v.from, b.subarray(0, n)), Malformed, `${v.name}, ${n} bytes`)
    }
    if (v.name === "reject without" ) continue
    assert.throws(() => parse(v.from, new Uint8Array([...b, 0])), Malformed, `${v.name} and a byte`)
  }
})

test("random bytes are refused, or are what we write", () => {
  let seed = 0x5eed, read = 0
  const rnd = (n) => { seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; return Math.floor((seed / 2 ** 32) * n) }
  const valid = vectors.filter((v) => !v.error)
  for (let i = 0; i < 30_000; i++) {
    const v = valid[rnd(valid.length)], b = bytes(v.hex)
    for (let k = rnd(4); k > 0; k--) b[rnd(b.length)] = rnd(256)
    const cut = b.subarray(0, rnd(5) ? b.length : rnd(b.length + 1))
    let p
    try { p = parse(v.from, cut) } catch (e) { assert.ok(e instanceof Malformed, `${hex(cut)}: ${e}`); continue }
    read++
    if (p.packet === "connect.reject" || p.packet === "disconnect") continue // bad bytes of a reason are replaced
    assert.equal(hex(write(p)), hex(cut))
  }
  assert.ok(read > 5_000, `${read} were read`)
})

test("what is written may be longer than the writer's first buffer", () => {
  for (let n = 0; n < 200; n++) {
    const v = Uint8Array.from({ length: n }, (_, i) => i)
    const w = new Writer().bytes(v).u8(1).u16(2).u32(3).u64(4n).f32(5).f64(6)
    assert.deepEqual(w.done().subarray(0, n), v)
    assert.equal(hex(w.done().subarray(n)), "01" + "0200" + "03000000" + "0400000000000000" + "0000a040" + "0000000000001840")
  }
})
