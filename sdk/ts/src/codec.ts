// The packets of replica: docs/protocols/replica.md. parse accepts what that page allows and nothing else; write is its inverse.

import { Malformed, Reader, Writer, decode, encode } from "./wire.ts"

/** Side is who sent a packet. */
export type Side = "client" | "server"

/** dataTypes are the names of the data types, by number. */
export const dataTypes = ["char", "uchar", "short", "ushort", "int", "uint", "int64", "uint64", "float", "double", "char[]"]

/** typeBytes are their sizes; −1 is any. */
const typeBytes = [1, 1, 2, 2, 4, 4, 8, 8, 4, 8, -1]

/** fits reports whether a value may be of a data type that is to be reckoned with: its size is right, and it is finite. */
export function fits(type: number, b: Uint8Array): boolean {
  const n = typeBytes[type]
  if (n < 0) return true
  if (b.length !== n) return false
  if (type === 8) return (b[3] & 0x7f) !== 0x7f || (b[2] & 0x80) === 0
  if (type === 9) return (b[7] & 0x7f) !== 0x7f || (b[6] & 0xf0) !== 0xf0
  return true
}

export interface Variable { link: number; type: number; name: string }
export interface LinkedEntity { link: number; name: string; variables: Variable[] }
export interface EntityValue { entity: number; data: Uint8Array }
export interface VariableValues { link: number; values: EntityValue[] }
export interface EntityUpdate { link: number; variables: VariableValues[] }
export interface VariableValue { link: number; data: Uint8Array }

export interface Init { packet: "connect.init"; reliable: boolean; sequence: number; extended: boolean }
export interface Accept { packet: "connect.accept"; reliable: true; sequence: number; received: bigint; sent: bigint; syncInterval: number; extended: boolean }
export interface Goodbye { packet: "connect.reject" | "disconnect"; reliable: boolean; sequence: number; reason: string }
export interface SyncInit { packet: "sync.init"; sequence: number }
export interface SyncAck { packet: "sync.ack"; sequence: number; acked: number; sent: bigint; received: bigint }
export interface Ack { packet: "ack"; acked: number }
export interface AckRun { packet: "ack.run"; first: number; count: number }
export interface Link { packet: "link.init" | "link.accept" | "link.reject"; sequence: number; orderLink: number }
export interface LinkTable { packet: "link.table"; sequence: number; orderLink: number; variables: Variable[]; entities: LinkedEntity[] }
export interface Replicate { packet: "replicate"; reliable: boolean; sequence: number; timestamp: bigint; entities: EntityUpdate[]; variables: VariableValue[] }
export interface Message {
  packet: "message"; reliable: boolean; ordered: boolean; sequence: number; timestamp: bigint
  name: string; data: Uint8Array; orderLink: number; more: boolean
}
export interface Bundle { packet: "bundle"; packets: Packet[] }

/** Packet is any of them. */
export type Packet = Init | Accept | Goodbye | SyncInit | SyncAck | Ack | AckRun | Link | LinkTable | Replicate | Message | Bundle

export const maxOrderLink = 31, maxBundled = 64, maxAcked = 1024

const RELIABLE = 1, ORDERED = 2, HIGH = 128
const linkPackets = ["link.init", "link.table", "link.accept", "link.reject"] as const

/** parse reads a datagram of one side. It throws Malformed. */
export function parse(from: Side, b: Uint8Array): Packet { return read(from, b, false) }

function read(from: Side, b: Uint8Array, inner: boolean): Packet {
  const r = new Reader(b)
  const p = readBody(from, r, r.u8("packet type"), inner)
  r.done()
  return p
}

function readBody(from: Side, r: Reader, type: number, inner: boolean): Packet {
  switch (type) {
    case 0: if (inner) r.fail("packet type", "a connect packet in a bundle"); return readConnect(from, r)
    case 1: {
      if (inner) r.fail("packet type", "a disconnect in a bundle")
      const flags = readFlags(r, RELIABLE), sequence = r.u16("sequence"), size = r.u8("reason size")
      //#servers
      if (from === "client" && size > 0) r.fail("reason size", "a client gives no reason")
      //#end
      return { packet: "disconnect", reliable: flags === RELIABLE, sequence, reason: decode(r.bytes("reason", size)) }
    }
    case 2: return readSync(from, r)
    case 3: return { packet: "ack", acked: r.u16("acknowledged sequence") }
    case 4: return readLink(from, r)
    case 5: return readReplicate(from, r)
    case 6: return readMessage(r)
    case 7: if (inner) r.fail("packet type", "a bundle in a bundle"); return readBundle(from, r)
    case 8: {
      const first = r.u16("first sequence"), count = r.u16("count")
      if (count < 1 || count > maxAcked) r.fail("count", `${count} acknowledgements`)
      return { packet: "ack.run", first, count }
    }
  }
  return r.fail("packet type", `${type} is none`)
}

/** readFlags reads the flags of a packet that may have only some. */
function readFlags(r: Reader, allowed: number): number {
  const flags = r.u8("flags")
  if (flags & ~allowed) r.fail("flags", `${flags} of a packet that may have ${allowed}`)
  return flags
}

function only(r: Reader, from: Side, side: Side, what: string): void {
  if (from !== side) r.fail(what, `only a ${side} sends it`)
}

function readConnect(from: Side, r: Reader): Packet {
  const flags = r.u8("flags"), sequence = r.u16("sequence"), type = r.u8("connection type")
  const may = (allowed: number) => { if (flags & ~allowed) r.fail("flags", `${flags} of a connect packet`) }
  const reliable = (flags & RELIABLE) > 0, extended = (flags & HIGH) > 0
  switch (type) {
    //#servers
    case 0:
      only(r, from, "client", "connect.init")
      may(RELIABLE | HIGH)
      if (sequence !== 0) r.fail("sequence", "an init's is 0")
      return { packet: "connect.init", reliable, sequence, extended }
    //#end
    case 1: {
      //#servers
      only(r, from, "server", "connect.accept")
      //#end
      may(RELIABLE | HIGH)
      if (sequence !== 1) r.fail("sequence", "an accept's is 1")
      if (!reliable) r.fail("flags", "an accept is reliable")
      const received = r.u64("received"), sent = r.u64("sent")
      return { packet: "connect.accept", reliable: true, sequence, received, sent, syncInterval: r.u32("sync interval"), extended }
    }
    case 2: {
      //#servers
      only(r, from, "server", "connect.reject")
      //#end
      may(RELIABLE)
      const size = r.left > 0 ? r.u8("reason size") : 0
      return { packet: "connect.reject", reliable, sequence, reason: decode(r.bytes("reason", size)) }
    }
  }
  return r.fail("connection type", `${type} is none`)
}

function readSync(from: Side, r: Reader): Packet {
  const sequence = r.u16("sequence"), type = r.u8("sync type")
  if (type > 1) r.fail("sync type", `${type} is none`)
  if (type === 0) {
    //#servers
    only(r, from, "server", "sync.init")
    //#end
    return { packet: "sync.init", sequence }
  }
  return { packet: "sync.ack", sequence, acked: r.u16("acknowledged sequence"), sent: r.u64("sent"), received: r.u64("received") }
}

function readLink(from: Side, r: Reader): Packet {
  const flags = readFlags(r, HIGH - 1)
  if ((flags & 3) !== 3) r.fail("flags", "a link packet is reliable and ordered")
  const sequence = r.u16("sequence"), type = r.u16("link type"), packet = linkPackets[type], orderLink = flags >> 2
  if (!packet) return r.fail("link type", `${type} is none`)
  //#servers
  only(r, from, packet === "link.table" ? "server" : "client", packet)
  //#end
  if (packet !== "link.table") return { packet, sequence, orderLink }
  const p: LinkTable = { packet, sequence, orderLink, variables: [], entities: [] }
  const variables = r.u8("variable count"), entities = r.u8("entity count")
  for (let i = r.many("variable count", variables, 4); i > 0; i--) p.variables.push(readVariable(r, r.u16("link")))
  for (let i = r.many("entity count", entities, 4); i > 0; i--) {
    const e: LinkedEntity = { link: r.u16("link"), name: r.name("name"), variables: [] }
    for (let j = r.many("variable count", r.u8("variable count"), 3); j > 0; j--) e.variables.push(readVariable(r, r.u8("link")))
    p.entities.push(e)
  }
  return p
}

function readVariable(r: Reader, link: number): Variable {
  const type = r.u8("data type")
  if (type >= typeBytes.length) r.fail("data type", `${type} is none`)
  return { link, type, name: r.name("name") }
}

function readReplicate(from: Side, r: Reader): Packet {
  //#servers
  only(r, from, "server", "replicate")
  //#end
  const flags = readFlags(r, RELIABLE)
  const p: Replicate = { packet: "replicate", reliable: flags > 0, sequence: r.u16("sequence"), timestamp: r.u64("timestamp"), entities: [], variables: [] }
  const entities = r.u8("entity count"), variables = r.u8("variable count")
  for (let i = r.many("entity count", entities, 3); i > 0; i--) {
    const e: EntityUpdate = { link: r.u16("link"), variables: [] }
    for (let j = r.many("variable count", r.u8("variable count"), 3); j > 0; j--) {
      const v: VariableValues = { link: r.u16("link"), values: [] }
      for (let k = r.many("entity count", r.u8("entity count"), 2); k > 0; k--) {
        v.values.push({ entity: r.u8("entity"), data: r.bytes("data", r.u8("data size")) })
      }
      e.variables.push(v)
    }
    p.entities.push(e)
  }
  for (let i = r.many("variable count", variables, 3); i > 0; i--) p.variables.push({ link: r.u16("link"), data: r.bytes("data", r.u8("data size")) })
  return p
}

function readMessage(r: Reader): Packet {
  const flags = r.u8("flags"), reliable = (flags & RELIABLE) > 0, ordered = (flags & ORDERED) > 0
  if (ordered && !reliable) r.fail("flags", "ordered without reliable")
  if (!ordered && flags > RELIABLE) r.fail("flags", "an order link, or more, without order")
  return {
    packet: "message", reliable, ordered, sequence: r.u16("sequence"), timestamp: r.u64("timestamp"),
    name: r.name("name"), data: r.bytes("data", r.u16("data size")), orderLink: flags >> 2 & maxOrderLink, more: (flags & HIGH) > 0,
  }
}

function readBundle(from: Side, r: Reader): Packet {
  const packets: Packet[] = []
  let acked = 0
  do {
    if (packets.length === maxBundled) r.fail("packets", `more than ${maxBundled}`)
    const size = r.u16("packet size")
    if (size < 3) r.fail("packet size", `${size} bytes`)
    const p = read(from, r.bytes("packet", size), true)
    if (p.packet === "ack") acked++
    if (p.packet === "ack.run") acked += p.count
    if (acked > maxAcked) r.fail("packets", `more than ${maxAcked} acknowledgements`)
    packets.push(p)
  } while (r.left > 0)
  return { packet: "bundle", packets }
}

/** writeClient returns the bytes of a packet that a client sends. */
export function writeClient(p: Packet): Uint8Array<ArrayBuffer> {
  const w = new Writer()
  switch (p.packet) {
    case "connect.init": head(w, 0, +p.reliable | high(p.extended), p.sequence).u8(0); break
    case "disconnect": head(w, 1, +p.reliable, p.sequence).name(p.reason); break
    case "sync.ack": w.u8(2).u16(p.sequence).u8(1).u16(p.acked).u64(p.sent).u64(p.received); break
    case "ack": w.u8(3).u16(p.acked); break
    case "ack.run": w.u8(8).u16(p.first).u16(p.count); break
    case "message": {
      const flags = +p.reliable | (p.ordered ? ORDERED : 0) | p.orderLink << 2 | high(p.more)
      head(w, 6, flags, p.sequence).u64(p.timestamp).name(p.name).u16(p.data.length).bytes(p.data)
      break
    }
    default: {
      const link = p as Link
      head(w, 4, 3 | link.orderLink << 2, link.sequence).u16(linkPackets.indexOf(link.packet))
    }
  }
  return w.done()
}

const head = (w: Writer, type: number, flags: number, sequence: number) => w.u8(type).u8(flags).u16(sequence)
const high = (on: boolean) => (on ? HIGH : 0)

/** write returns the bytes of any packet, those of servers too. */
export function write(p: Packet): Uint8Array<ArrayBuffer> {
  const w = new Writer()
  switch (p.packet) {
    case "connect.accept": return head(w, 0, RELIABLE | high(p.extended), p.sequence).u8(1).u64(p.received).u64(p.sent).u32(p.syncInterval).done()
    case "connect.reject": return head(w, 0, +p.reliable, p.sequence).u8(2).name(p.reason).done()
    case "sync.init": return w.u8(2).u16(p.sequence).u8(0).done()
    case "replicate": writeReplicate(head(w, 5, +p.reliable, p.sequence), p); return w.done()
    case "link.table": writeTable(head(w, 4, 3 | p.orderLink << 2, p.sequence).u16(1), p); return w.done()
    case "bundle":
      w.u8(7)
      for (const q of p.packets) {
        const b = write(q)
        w.u16(b.length).bytes(b)
      }
      return w.done()
  }
  return writeClient(p)
}

function writeTable(w: Writer, p: LinkTable): void {
  w.u8(p.variables.length).u8(p.entities.length)
  for (const v of p.variables) w.u16(v.link).u8(v.type).name(v.name)
  for (const e of p.entities) {
    w.u16(e.link).name(e.name).u8(e.variables.length)
    for (const v of e.variables) w.u8(v.link).u8(v.type).name(v.name)
  }
}

function writeReplicate(w: Writer, p: Replicate): void {
  w.u64(p.timestamp).u8(p.entities.length).u8(p.variables.length)
  for (const e of p.entities) {
    w.u16(e.link).u8(e.variables.length)
    for (const v of e.variables) {
      w.u16(v.link).u8(v.values.length)
      for (const x of v.values) w.u8(x.entity).u8(x.data.length).bytes(x.data)
    }
  }
  for (const v of p.variables) w.u16(v.link).u8(v.data.length).bytes(v.data)
}

/** messageBytes is what a message packet has besides name and data. */
export const messageBytes = 15

/** sizeOfName returns the bytes of a name. */
export const sizeOfName = (name: string): number => encode(name).length

export { Malformed }
