// A client of replica: a pure state machine without sockets, timers or a clock of its own. Call handleDatagram and handleTimeout, then
// poll until it returns null, then sleep until nextTimeout. docs/protocols/replica.md is what it speaks.

import { fits, maxAcked, maxBundled, maxOrderLink, messageBytes, parse, sizeOfName, writeClient as write } from "./codec.ts"
import type { Accept, Goodbye, Link, LinkTable, Message, Packet, Replicate, SyncAck } from "./codec.ts"
import { ServerClock } from "./clock.ts"
import { Receiver } from "./receiver.ts"
import type { Delivery } from "./receiver.ts"
import { Sender } from "./sender.ts"
import type { Flight, Random } from "./sender.ts"
import { Reader } from "./wire.ts"

/** State of a connection. */
export type State = "connecting" | "accepted" | "open" | "closing" | "closed"

/** Reason is why a connection has ended. */
export type Reason = "closed" | "timeout" | "unacknowledged" | "rejected" | "peer" | "unknown" | "protocol" | "overflow"

/** Mode is how reliable a message is. Unreliable ones come once or not at all, reliable ones once, ordered ones once and in their order. */
export type Mode = "unreliable" | "reliable" | "ordered"

export interface MessageEvent { kind: "message"; name: string; data: Uint8Array; number: number; reliable: boolean; ordered: boolean }
/** Event is what an endpoint tells. closed is the last. */
export type Event =
  | { kind: "connected" } | { kind: "linked"; table: LinkTable } | { kind: "replicated"; number: number; values: Replicate }
  | { kind: "gone"; link: number; id: number; number: number } | MessageEvent
  | { kind: "acked"; tag: string } | { kind: "closed"; reason: Reason; text: string }

/** Options of an endpoint. */
export interface Options {
  /** The pass that is shown to get in. link.init follows its acknowledgement. */
  pass?: Uint8Array
  /** Copies ahead of loss are sent. They are of no use over a stream, which loses nothing. */
  early?: boolean
  /** The greatest size of a datagram: 1,200, and 1,100 over WebTransport. */
  maxPacket?: number
  random?: Random
}

// Our limits, and why, are those of protocol/replica/core/limits.go.
const initRepeat = 250, maxInitRepeat = 1000, timeout = 10_000, linger = 500, closeSends = 5, maxSyncInterval = 3000
const maxMalformed = 64, malformedSpan = 10_000, firstWithin = 5000, maxUnprovenSyncs = 10, obeyedWithin = 1024, reliableEvery = 2048
const maxMessage = 1 << 20, maxLooseBytes = 128 << 10, maxQueuedBytes = 512 << 10, maxControl = 64, maxNames = 4096
const linkLane = 1, messageLane = 2
const bundlesName = "parley.bundles", passName = "parley.pass", goneName = "parley.gone"
/** frozenAfter is after how long without a turn a page was suspended, and the server not silent. */
const frozenAfter = 3000

interface Queued { name: string; data: Uint8Array; time: bigint; offset: number }

/** Endpoint is one connection. */
export class Endpoint {
  state: State = "connecting"
  readonly events: Event[] = []
  readonly clock = new ServerClock()
  sender: Sender
  receiver: Receiver
  extended = false
  private readonly options: Options
  private readonly maxPacket: number
  private readonly control: Packet[] = []
  private loose: Uint8Array[] = []
  private readonly queue: Queued[] = []
  private queued = 0
  private near = 1 // the newest accepted number of the peer
  private heard: number
  private turn: number
  private graced = false
  private timeout = timeout
  private handshake = { next: Infinity, delay: initRepeat, sent: 0, acked: 0 }
  private readonly syncs: { sequence: number; at: number }[] = []
  private passing = false
  private linkDue = false
  private linked = false
  private talked = false
  private readonly linkOut: Link["packet"][] = []
  private told = false // parley.bundles was sent
  private known = false // and has come
  private heardBundles = false // the peer has sent it
  private malformed = { since: 0, count: 0 }
  private parts: { name: string; chunks: Uint8Array[]; size: number } | null = null
  private readonly kinds = new Map<number, Map<number, number>>() // types of variables by link, by link of the entity
  private readonly variables = new Map<number, number>()
  private names = 0
  private leaving: { by: number; until: number } | null = null
  private ending: { until: number; next: number; sends: number; due: boolean; sequence: number; reason: Reason; text: string } | null = null

  constructor(now: number, options: Options = {}) {
    this.options = options
    this.maxPacket = options.maxPacket ?? 1200
    this.heard = this.turn = now
    this.sender = this.newSender()
    this.receiver = this.newReceiver()
    this.sendInit(now)
  }

  private newSender(): Sender { return new Sender(1, this.options.random ?? Math.random, this.options.early ?? true) }
  private newReceiver(): Receiver { return new Receiver(2, this.extended, (d) => this.take(d)) }

  /** rtt is the smoothed round trip in ms, 0 while it is unknown. */
  get rtt(): number { return this.sender.srtt }

  private get talking(): boolean { return this.state === "accepted" || this.state === "open" }

  private get bundling(): boolean { return this.heardBundles && this.known }

  private unwrap(sequence: number): number { return unwrap16(this.near, sequence) }

  private hears(now: number, n: number): void {
    this.heard = now
    this.graced = false
    if (n > this.near) this.near = n
  }

  // ---- time

  /** nextTimeout returns when handleTimeout is due, Infinity for never. */
  get nextTimeout(): number {
    if (this.state === "closed") return Infinity
    if (this.state === "connecting") return this.handshake.next
    let next = Math.min(this.heard + this.timeout, this.handshake.next)
    if (this.leaving) next = Math.min(next, this.leaving.by)
    if (this.ending) next = Math.min(next, this.ending.next)
    if (this.talking) next = Math.min(next, this.sender.nextTimeout, this.receiver.nextTimeout(this.rtt))
    return next
  }

  /** handleTimeout does everything that is due. It may be called early or late. */
  handleTimeout(now: number): void {
    const slept = now - this.turn > frozenAfter
    this.turn = now
    if (this.state === "closed") return
    if (this.state !== "connecting" && now - this.heard >= this.timeout) {
      // A page that was suspended has packets waiting that it could not read.
      if (slept && !this.graced) {
        this.graced = true
        this.heard = now - this.timeout + 2000
      } else {
        this.end(this.ending?.reason ?? "timeout", this.ending?.text ?? "the server is silent")
        return
      }
    }
    if (now >= this.handshake.next) {
      if (this.state === "connecting") this.sendInit(now)
      else if (this.state === "accepted") {
        // "The client repeats its ack of the accept in the same way until the first sync.init arrives."
        this.put({ packet: "ack", acked: 1 })
        this.repeat(now)
      }
    }
    const x = this.ending
    if (this.state === "closing" && x && now >= x.next) {
      if (x.sends >= closeSends || now >= x.until) this.end(x.reason, x.text)
      else this.sendDisconnect(now)
    }
    if (this.talking) {
      this.receiver.release(now, this.rtt)
      this.sender.handleTimeout(now)
      this.afterEngine(now)
    }
  }

  private repeat(now: number): void {
    const h = this.handshake
    h.next = now + h.delay
    h.delay = Math.min(2 * h.delay, maxInitRepeat)
  }

  private afterEngine(now: number): void {
    if (this.sender.failed && this.talking) {
      this.end("unacknowledged", "the server is silent")
      return
    }
    this.tellBundles()
    this.pumpLinks()
    this.pump()
    if (this.leaving && this.talking && (this.settled || now >= this.leaving.by)) this.fail(now, "closed", "")
  }

  // ---- handshake and end

  private sendInit(now: number): void {
    this.put({ packet: "connect.init", reliable: false, sequence: 0, extended: true })
    this.handshake.sent = now
    this.repeat(now)
  }

  private accepted(now: number, p: Accept): void {
    if (this.state !== "connecting") {
      if (this.talking) this.put({ packet: "ack", acked: 1 })
      return
    }
    this.state = "accepted"
    this.heard = now
    this.clock.add(this.handshake.sent, p.received, p.sent, now)
    this.timeout = Math.max(timeout, 3 * Math.min(p.syncInterval / 1000, maxSyncInterval))
    this.extended = p.extended
    this.sender = this.newSender()
    this.receiver = this.newReceiver()
    this.near = 1
    this.sender.sample(this.clock.rtt)
    this.put({ packet: "ack", acked: 1 })
    this.handshake = { next: now + initRepeat, delay: initRepeat, sent: this.handshake.sent, acked: now }
    if (this.options.pass) {
      this.passing = true
      this.sendNamed("reliable", passName, this.options.pass, "pass")
    }
    this.events.push({ kind: "connected" })
  }

  private tellBundles(): void {
    if (this.told || this.state !== "open" || !this.extended) return
    if (this.sender.ready(messageBytes + bundlesName.length)) {
      this.told = true
      this.sendNamed("reliable", bundlesName, new Uint8Array(), "bundles")
    }
  }

  private agreed(): void {
    if (this.bundling) this.sender.bundles = this.receiver.bundles = true
  }

  private disconnected(now: number, p: Goodbye): void {
    const among = (n: number) => {
      const m = unwrap16(n, p.sequence)
      return m <= n && n - m < obeyedWithin
    }
    if (this.state === "connecting") {
    } else if (!p.reliable && p.reason === "" && (among(this.sender.next - 1) || among(this.near))) {
      this.unknown(now)
    } else if (Math.abs(unwrap16(this.near, p.sequence) - this.near) <= obeyedWithin) {
      if (p.reliable) this.put({ packet: "ack", acked: p.sequence })
      this.endedBy("peer", p.reason)
    }
  }

  /** unknown takes a notice that the server does not know us. Before anything was said the handshake begins anew. */
  private unknown(now: number): void {
    if (this.state !== "accepted" || this.sender.pending > (this.passing ? 1 : 0) || this.queue.length > 0 || this.talked) {
      this.endedBy("unknown", "the connection was lost")
      return
    }
    this.state = "connecting"
    this.handshake.delay = initRepeat
    this.sendInit(now)
  }

  private endedBy(reason: Reason, text: string): void {
    if (this.ending) this.end(this.ending.reason, this.ending.text)
    else if (this.leaving) this.end("closed", "")
    else this.end(reason, text)
  }

  /** close says goodbye, once what was sent before is acknowledged or a quarter of a second is over. */
  close(now: number): void {
    if (this.leaving || this.state === "closing" || this.state === "closed") return
    if (!this.talking || this.settled) this.fail(now, "closed", "")
    else this.leaving = { by: now + linger / 2, until: now + linger }
  }

  private get settled(): boolean { return this.sender.pending === 0 && this.queue.length === 0 }

  private fail(now: number, reason: Reason, text: string): void {
    if (this.state === "closing" || this.state === "closed") return
    if (this.state === "connecting") {
      this.end(reason, text)
      return
    }
    this.ending = { until: this.leaving?.until ?? now + linger, next: 0, sends: 0, due: false, sequence: this.sender.next & 0xffff, reason, text }
    this.state = "closing"
    this.handshake.next = Infinity
    this.sendDisconnect(now)
  }

  private sendDisconnect(now: number): void {
    const x = this.ending!
    x.due = true
    x.sends++
    x.next = now + Math.min(Math.max(2 * this.rtt, linger / closeSends), x.until - now)
  }

  private end(reason: Reason, text: string): void {
    if (this.state === "closed") return
    this.state = "closed"
    this.handshake.next = Infinity
    this.queue.length = 0
    this.loose = []
    this.sender.close()
    this.events.push({ kind: "closed", reason, text })
  }

  // ---- receiving

  /** handleDatagram takes what came from the server. */
  handleDatagram(now: number, b: Uint8Array): void {
    this.turn = now
    if (this.state === "closed") return
    const type = b[0]
    let p: Packet
    try {
      if (type >= 7 && !this.heardBundles) throw new Error("not agreed")
      p = parse("server", b)
    } catch {
      this.noteMalformed(now)
      return
    }
    if (type >= 7 && !this.known) {
      this.known = true // only those send bundles who have our word
      this.agreed()
    }
    for (const q of p.packet === "bundle" ? p.packets : [p]) {
      this.handle(now, q)
      if ((this.state as State) === "closed") return
    }
    if (this.talking) this.afterEngine(now)
  }

  private noteMalformed(now: number): void {
    if (this.state === "connecting") return
    const m = this.malformed
    if (now - m.since >= malformedSpan) this.malformed = { since: now, count: 0 }
    if (++this.malformed.count > maxMalformed) this.fail(now, "protocol", "the server breaks the protocol")
  }

  private handle(now: number, p: Packet): void {
    switch (p.packet) {
      case "connect.accept": this.accepted(now, p); return
      case "connect.reject":
        if (this.state === "connecting") this.end("rejected", p.reason)
                return
      case "disconnect": this.disconnected(now, p); return
    }
    const { sequence } = p as { sequence?: number }
    if (this.state === "connecting" || sequence !== undefined && this.tooEarly(now, sequence)) {
      return
    }
    switch (p.packet) {
      case "ack": this.tookAcks(now, p.acked, 1); return
      case "ack.run": this.tookAcks(now, p.first, p.count); return
    }
    if (p.packet === "message" && !this.inTime(now, p.timestamp)) return
    if (this.state === "closing") {
      return
    }
    switch (p.packet) {
      case "sync.init": this.syncInit(now, p.sequence); return
      case "sync.ack": this.syncAck(now, p); return
      case "message": this.judge(now, p, p.reliable, p.ordered ? messageLane : 0, p.orderLink); return
      case "replicate": this.replicated(now, p); return
      case "link.table": this.judge(now, p, true, linkLane, p.orderLink); return
    }
  }

  /** tooEarly: a client that was just accepted takes only what a server sends to one that it does not know yet. */
  private tooEarly(now: number, sequence: number): boolean {
    return this.state === "accepted" && this.unwrap(sequence) > this.near + maxUnprovenSyncs && now - this.handshake.acked < firstWithin
  }

  private inTime(now: number, ...times: bigint[]): boolean {
    return times.every((t) => this.clock.near(now, t))
  }

  private tookAcks(now: number, first: number, count: number): void {
    if (this.state === "closing") {
      if ((this.ending!.sequence - first & 0xffff) < count) this.end(this.ending!.reason, this.ending!.text)
      return
    }
    for (let i = 0; i < count; i++) {
      const f = this.sender.ack(now, unwrap16(this.sender.next, first + i & 0xffff))
      if (f !== undefined) { // what was not sent is a lie, and no sign of life
        this.heard = now
        this.graced = false
      }
      if (f?.tag === "bundles") {
        this.known = true
        this.agreed()
      } else if (f?.tag === "pass") {
        this.passing = false
        if (this.linkDue) this.putLink("link.init")
      } else if (f?.tag) {
        this.events.push({ kind: "acked", tag: f.tag })
      }
    }
  }

  private judge(now: number, p: Message | LinkTable, reliable: boolean, lane: number, link: number): void {
    const number = this.unwrap(p.sequence)
    const fate = this.receiver.receive(now, { number, packet: p }, reliable, lane, link, this.rtt)
    if (fate === "violation") this.fail(now, "protocol", "the server breaks the protocol")
    else if (fate === "ready" || fate === "held" || fate === "repeat" || fate === "skipped") this.hears(now, number)
  }

  /** take takes a packet in its order. */
  private take(d: Delivery): void {
    const p = d.packet as Message | LinkTable
    if (p.packet === "link.table") this.takeTable(p)
    else this.takeMessage(d.number, p)
  }

  private takeTable(p: LinkTable): void {
    for (const v of p.variables) this.variables.set(v.link, v.type)
    for (const e of p.entities) {
      let k = this.kinds.get(e.link)
      if (!k) this.kinds.set(e.link, k = new Map())
      for (const v of e.variables) k.set(v.link, v.type)
      this.names += e.variables.length + 1
    }
    this.names += p.variables.length
    if (this.names > 16 * maxNames) {
      this.fail(this.turn, "overflow", "the server sends too much")
      return
    }
    this.putLink("link.accept")
    this.events.push({ kind: "linked", table: p })
  }

  private takeMessage(number: number, p: Message): void {
    if (p.name === bundlesName && this.extended && p.reliable && !p.ordered) {
      this.heardBundles = true
      this.agreed()
      return
    }
    if (p.name === goneName) {
      this.takeGone(number, p.data)
      return
    }
    let { name, data } = p
    if (this.extended && p.ordered && (p.more || this.parts)) {
      const parts = this.parts ??= { name, chunks: [], size: 0 }
      parts.chunks.push(data)
      parts.size += data.length
      if (parts.size > maxMessage) {
        this.fail(this.turn, "overflow", "the server sends too much")
        return
      }
      if (p.more) return
      this.parts = null
      name = parts.name
      data = new Uint8Array(parts.size)
      let at = 0
      for (const c of parts.chunks) {
        data.set(c, at)
        at += c.length
      }
    }
    this.events.push({ kind: "message", name, data, number, reliable: p.reliable, ordered: p.ordered })
  }

  private takeGone(number: number, data: Uint8Array): void {
    if (data.length === 0 || data.length % 3 !== 0) {
      this.noteMalformed(this.turn)
      return
    }
    for (const r = new Reader(data); r.left > 0;) this.events.push({ kind: "gone", link: r.u16("entity link"), id: r.u8("entity id"), number })
  }

  /** replicated takes values. All of them are checked before any is taken or acknowledged. */
  private replicated(now: number, p: Replicate): void {
    if (!this.inTime(now, p.timestamp)) return
    const good = (type: number | undefined, b: Uint8Array) => type === undefined || fits(type, b)
    const fine = p.entities.every((e) => e.variables.every((v) => v.values.every((x) => good(this.kinds.get(e.link)?.get(v.link), x.data))))
    if (!fine || !p.variables.every((v) => good(this.variables.get(v.link), v.data))) {
      this.noteMalformed(now)
      return
    }
    const number = this.unwrap(p.sequence)
    if (!this.receiver.fresh(now, number, p.reliable)) return
    this.hears(now, number)
    this.events.push({ kind: "replicated", number, values: p })
  }

  // ---- the clock

  private freshNumber(now: number, sequence: number): boolean {
    const n = this.unwrap(sequence)
    if (!this.receiver.fresh(now, n, false)) return false
    this.hears(now, n)
    return true
  }

  private syncInit(now: number, sequence: number): void {
    if (!this.freshNumber(now, sequence)) return
    if (this.state === "accepted") {
      this.state = "open"
      this.handshake.next = Infinity
      this.tellBundles()
    }
    const n = this.sender.take()
    if (n < 0) return
    const t = this.clock.remote(now)
    this.put({ packet: "sync.ack", sequence: n & 0xffff, acked: sequence, sent: t, received: t })
    this.syncs.push({ sequence: n & 0xffff, at: now })
    if (this.syncs.length > 4) this.syncs.shift()
  }

  private syncAck(now: number, p: SyncAck): void {
    if (!this.inTime(now, p.sent, p.received) || !this.freshNumber(now, p.sequence)) return
    const i = this.syncs.findIndex((s) => s.sequence === p.acked)
    if (i < 0) return
    const [asked] = this.syncs.splice(i, 1)
    if (this.clock.add(asked.at, p.received, p.sent, now)) this.sender.sample(this.clock.rtt)
  }

  // ---- sending

  /** link asks for the server's table, once the pass is acknowledged. */
  link(): void {
    if (this.linked || !this.talking) return
    this.linked = true
    this.linkDue = this.passing
    if (!this.passing) this.putLink("link.init")
  }

  private putLink(packet: Link["packet"]): void {
    this.linkOut.push(packet)
    this.pumpLinks()
  }

  private pumpLinks(): void {
    for (; this.linkOut.length > 0 && this.talking && this.sender.ready(6); this.linkOut.shift()) {
      const orderLink = this.mayFollow(linkLane)
      if (orderLink < 0) return
      this.sender.send(write({ packet: this.linkOut[0], sequence: this.sender.next & 0xffff, orderLink }), linkLane)
    }
  }

  /** mayFollow returns the order link of the next packet of a lane, −1 if that is not to go yet. */
  private mayFollow(lane: number): number {
    //#servers of others
    if (!this.extended) return this.sender.inLane(lane) === 0 ? 0 : -1
    //#end
    const back = this.sender.link(lane)
    return back <= maxOrderLink ? back : -1
  }

  /** send sends a message. It returns false if there is no room for it now, and throws if there never is. */
  send(mode: Mode, name: string, data: Uint8Array, tag = ""): boolean {
    if (!this.talking || this.leaving) return false
    const size = messageBytes + sizeOfName(name) + data.length
    if (data.length > maxMessage || mode !== "ordered" && size > this.maxPacket) {
      throw new RangeError(`parley: a message of ${data.length} bytes is too large`)
    }
    this.talked = true
    if (mode !== "ordered") return this.sendNamed(mode, name, data, tag)
    if (this.queue.length > 0 && this.queued + data.length > maxQueuedBytes) return false
    this.queue.push({ name, data, time: this.clock.remote(this.turn), offset: 0 })
    this.queued += data.length
    this.pump()
    return true
  }

  private sendNamed(mode: Mode, name: string, data: Uint8Array, tag: string): boolean {
    const p: Message = {
      packet: "message", reliable: mode === "reliable" || this.sender.sinceReliable >= reliableEvery - 1, ordered: false, sequence: this.sender.next & 0xffff,
      timestamp: this.clock.remote(this.turn), name, data, orderLink: 0, more: false,
    }
    if (p.reliable) {
      if (!this.sender.ready(data.length)) return false
      this.sender.send(write(p), 0, tag)
      return true
    }
    if (this.sender.take() < 0) return false
    this.loose.push(write(p))
    for (let n = this.loose.reduce((sum, b) => sum + b.length, 0); n > maxLooseBytes;) n -= this.loose.shift()!.length
    return true
  }

  /** pump moves ordered messages into the window as far as their order allows. */
  private pump(): void {
    for (let q = this.queue[0]; q && this.talking; q = this.queue[0]) {
      const orderLink = this.mayFollow(messageLane), name = q.offset > 0 ? "" : q.name
      const room = this.maxPacket - messageBytes - sizeOfName(name)
      const data = q.data.subarray(q.offset, q.offset + room), more = q.offset + data.length < q.data.length
      if (orderLink < 0 || !this.sender.ready(messageBytes + name.length + data.length)) return
      this.sender.send(write({
        packet: "message", reliable: true, ordered: true, sequence: this.sender.next & 0xffff, timestamp: q.time, name, data, orderLink, more,
      }), messageLane)
      q.offset += data.length
      if (!more) {
        this.queue.shift()
        this.queued -= q.data.length
      }
    }
  }

  private put(p: Packet): void { if (this.control.length < maxControl) this.control.push(p) }

  /** poll returns the next datagram to send, null if there is none now. */
  poll(now: number): Uint8Array<ArrayBuffer> | null {
    const b = this.bundling && this.state === "open" ? this.pollBundle(now) : this.pollOne(now)
    return b as Uint8Array<ArrayBuffer> | null
  }

  private pollOne(now: number): Uint8Array | null {
    const c = this.control.shift()
    if (c) return write(c)
    if (this.talking) {
      this.sender.begin()
      const f = this.sender.poll(now, Infinity)
      if (f) return this.freshen(now, f)
      const l = this.loose.shift()
      if (l) return l
    }
    const x = this.ending
    if (x?.due) {
      x.due = false
      return write({ packet: "disconnect", reliable: true, sequence: x.sequence, reason: "" })
    }
    const a = this.state === "closed" ? null : this.receiver.ackRun(now, 1, false)
    return a && write({ packet: "ack", acked: a.first & 0xffff })
  }

  /** freshen writes the time anew into a message that is resent so late that its own would count as forged. */
  private freshen(now: number, f: Flight): Uint8Array {
    if (f.data[0] === 6 && f.resends + f.fast > 0) {
      const view = new DataView(f.data.buffer, f.data.byteOffset)
      const t = this.clock.remote(now)
      if (BigInt.asIntN(64, t - view.getBigUint64(4, true)) > 5_000_000n) view.setBigUint64(4, t, true)
    }
    return f.data
  }

  /** pollBundle packs what is to leave now: packets of the clock, acks, messages, and copies and acks that may ride along. */
  private pollBundle(now: number): Uint8Array | null {
    const packets: Uint8Array[] = []
    let n = 0, acked = 0
    const room = () => packets.length === 0 ? this.maxPacket : packets.length === maxBundled ? 0 : this.maxPacket - n - (packets.length === 1 ? 5 : 2)
    const add = (b: Uint8Array) => {
      n += b.length + (packets.length === 0 ? 0 : packets.length === 1 ? 5 : 2)
      packets.push(b)
    }
    const acks = (ride: boolean) => {
      while (acked < maxAcked && room() >= 5) {
        const a = this.receiver.ackRun(now, maxAcked - acked, ride)
        if (!a) return
        acked += a.count
        const first = a.first & 0xffff
        add(write(a.count === 1 ? { packet: "ack", acked: first } : { packet: "ack.run", first, count: a.count }))
      }
    }
    const apart: Packet["packet"][] = ["connect.init", "disconnect"]
    while (this.control.length > 0 && room() >= 22 && !apart.includes(this.control[0].packet)) {
      if (this.control[0].packet === "ack") acked++
      add(write(this.control.shift()!))
    }
    acks(false)
    this.sender.begin()
    for (let f = this.sender.poll(now, room()); f; f = this.sender.poll(now, room())) add(this.freshen(now, f))
    while (this.loose.length > 0 && this.loose[0].length <= room()) add(this.loose.shift()!)
    if (packets.length === 0) return null
    acks(true)
    for (let f = this.sender.ride(now, room()); f; f = this.sender.ride(now, room())) add(f.data)
    if (packets.length === 1) return packets[0]
    const out = new Uint8Array(n)
    out[0] = 7
    let at = 1
    for (const b of packets) {
      out[at++] = b.length & 0xff
      out[at++] = b.length >> 8
      out.set(b, at)
      at += b.length
    }
    return out
  }
}

/** unwrap16 returns the number nearest to near with those low bits; of two that are equally near, the later. */
export function unwrap16(near: number, x: number): number {
  const start = Math.max(near, 0x7fff) - 0x7fff
  return start + ((x - start) & 0xffff)
}

/** unwrap32 does the same for 32 bits. */
export function unwrap32(near: number, x: number): number {
  const start = Math.max(near, 0x7fffffff) - 0x7fffffff
  return start + ((x - start) >>> 0)
}
