// What is to be drawn: what the server tells goes in, entities at a moment come out. Others are drawn a little in the past, between two
// ticks; the own entity is predicted. The rules are those of the Go client (play/picture), and test/picture.test.mjs compares the two.

import type { Event, Mode } from "./endpoint.ts"
import { unwrap32 } from "./endpoint.ts"
import { chunkSide, Mover, Terrain } from "./motion.ts"
import { Blend, Clock, Lead, remainder } from "./pace.ts"
import { ANGLE, NORM, SPRITE, X, Y, get, readField, rounded, set, writeField, zero } from "./schema.ts"
import type { Action, Field, Kind, Schema, Value } from "./schema.ts"
import { Malformed, Reader, Writer, decode } from "./wire.ts"

/** Body is the own entity as it is predicted: where it is, and its fields by their names. */
export interface Body { x: number; y: number; heading: number; speed: number; sprite: number; [field: string]: any }
/** Input is what the player did for one tick. */
export interface Input {
  tick: number
  /** How the player steers from this tick on, if that has changed. */
  steer?: { angle: number; norm: number }
  /** The actions of this tick. */
  actions: { name: string; params: Record<string, unknown> }[]
  /** Moves a body by its speed up to what stops it, as the server does. It returns true if something did. */
  move(b: Body): boolean
}
/** Predict computes a tick of the own entity: it changes the body as the game's Step would. */
export type Predict = (body: Body, input: Input) => void

/** Member is a player of the room. */
export interface Member { name: string; id: number; away: boolean; dialect?: string; carrier?: string }

/** Note is something that happened. */
export type Note = { type: string; [more: string]: any }

/** Voice sends messages over the present connection. It returns false if there is no room. */
export type Voice = (mode: Mode, name: string, data: Uint8Array) => boolean

export interface Stats { fates: number; wrong: number; large: number; snapped: number; margin: number }

interface Place { x: number; y: number; angle: number }
interface Sample { tick: number; gone: boolean; doubt: boolean[] | null; values: Value[] }
interface Track { wire: number; kind: Kind; first: number; samples: Sample[]; epoch: number; drawn?: boolean }
interface Made {
  number: number; tick: number; made: number; shown: number; action: Action | null; params: Record<string, unknown>; data: Uint8Array
  angle: number; norm: number; sent: number; probe: boolean
}
interface Slot { kind: LinkedKind; wire: number; values: Value[]; numbers: number[]; doubts: number[]; since: number; dirty: boolean }
interface LinkedKind { kind: Kind; fields: (Held | undefined)[]; slots: Map<number, Slot> }
interface Held { entity: boolean; first: number; count: number }
interface Packet { number: number; values: Extract<Event, { kind: "replicated" }>["values"] }

// The bounds and habits of play/picture/limits.go.
const maxTracks = 4096, maxSamples = 64, minSamples = 8, maxValues = 512, maxInputs = 128, maxPackets = 64, maxRun = 64, maxNames = 4096
const steersATick = 4, repeatSteers = 3, probesASecond = 10, patientCalls = 40, snapTicks = 2.5, valuesWait = 5, maxTickInputs = 32
const phi = (1 + Math.sqrt(5)) / 2
const dialects = [undefined, "replica", "stamp", "relay", "duplex", "realm"], carriers = [undefined, "ws", "wt"]
const whats = ["", "here", "joined", "left", "away", "back"]

/** Picture is the pure core of a client. */
export class Picture {
  readonly schema: Schema
  readonly terrain: Terrain
  readonly stats: Stats = { fates: 0, wrong: 0, large: 0, snapped: 0, margin: 0 }
  readonly members = new Map<string, Member>()
  seed = 0n
  mode = ""
  rate = 20
  /** own is the number of the own entity, 0 if it is not known. */
  own = 0
  /** tick is the tick at which others were drawn last, ownTick that of the own entity; 0 if it is not predicted. */
  tick = 0
  ownTick = 0
  next = Infinity
  entered = false
  failure = ""
  predicting: boolean

  private readonly predict: Predict
  private readonly mover: Mover
  private readonly note: (n: Note) => void
  private voice: Voice | null = null
  private epoch = 0
  private ownEpoch = 0
  private swept = 0
  private since = 0
  private period = 50
  clock = new Clock(20)
  private lead = new Lead(20)
  private newest = 0
  private begun = false
  private ahead = false
  private readonly tracks = new Map<number, Track>()
  private names = new Map<number, Member>()
  private name: string

  // What the player has done, and its fate is not known.
  private inputs: Made[] = []
  private number = 0
  private angle = 0
  private norm = 0
  private steered = false
  private waits = false
  private steerTick = 0
  private steers = 0
  private probeAt = 0
  private calls = 0
  private sentAt = 0
  private pending = { tick: 0, number: 0, since: 0, waits: false } // a truth until the values of its tick have come

  // The prediction of the own entity: it is at mine, and at the next tick to.
  private ready = false
  private mine = 0
  private at = 0
  private state: Value[] = []
  private stateTick = 0 // the state is that after this tick
  private readonly history = new Map<number, Value[]>()
  private from: Place = { x: 0, y: 0, angle: 0 }
  private to: Place = { x: 0, y: 0, angle: 0 }
  private blend = new Blend()
  private slack = { x: 0, y: 0 }
  private slackFrom = 0
  private turned = false

  // What the present connection has told: play/picture/replica.go.
  private kinds = new Map<number, LinkedKind>()
  private packets: Packet[] = []
  private touched: Slot[] = []
  private you: { link: number; id: number } | null = null
  private ownSlot: Slot | null = null
  private numbers = new Map<number, number>() // number of a tick's message, by tick
  private tickNumber = 0 // of the newest tick's message
  private newestTick = 0
  private silence = 0

  constructor(schema: Schema, options: { name?: string; predict?: Predict | false; note?: (n: Note) => void } = {}) {
    this.schema = schema
    this.name = options.name ?? ""
    this.note = options.note ?? (() => {})
    this.predicting = options.predict !== false
    this.terrain = new Terrain(schema)
    this.mover = new Mover(schema, this.terrain)
    this.predict = options.predict || usual
    this.terrain.ask = (bx, by) => !!this.voice && this.voice("reliable", "terrain", new Writer().u16(bx & 0xffff).u16(by & 0xffff).done())
  }

  // ---- the connection

  /** connected says that there is a new connection. What was known stays until the server tells it anew. */
  connected(now: number, voice: Voice): void {
    this.voice = voice
    this.epoch++
    this.since = 0
    this.names.clear()
    this.members.clear()
    // What was sent over the old connection and has no fate yet is not sent again. How the player steers is.
    this.inputs = []
    this.waits = this.steered
    this.calls = this.probeAt = 0
    this.ahead = false
    this.next = now
    this.kinds = new Map()
    this.packets = []
    this.touched = []
    this.you = this.ownSlot = null
    this.numbers.clear()
    this.tickNumber = this.newestTick = this.silence = 0
    this.terrain.forget(false)
  }

  /** lost says that the connection is lost. The picture stays as it is. */
  lost(): void {
    this.voice = null
    this.ahead = false
    this.pending.waits = false
  }

  /** read takes an event of the connection. */
  read(now: number, ev: Event): void {
    switch (ev.kind) {
      case "linked": this.link(ev.table); return
      case "replicated": this.hold(now, ev); return
      case "gone": this.slotGone(ev.link, ev.id, ev.number); return
      case "message":
        try {
          this.message(now, ev.name, new Reader(ev.data), ev.number)
        } catch (e) {
          if (!(e instanceof Malformed)) throw e // what cannot be read is left out
        }
    }
  }

  private message(now: number, name: string, r: Reader, number: number): void {
    switch (name) {
      case "parley.world": {
        const seed = r.u64("seed"), rate = r.u16("tick rate"), tick = r.u32("tick"), mode = r.name("mode"), print = r.u64("fingerprint")
        r.done()
        this.enter(now, seed, rate, tick, mode, print.toString(16).padStart(16, "0"))
        return
      }
      case "parley.you": {
        this.you = { link: r.u16("entity link"), id: r.u8("id") }
        this.find()
        return
      }
      case "parley.tick": {
        const tick = r.u32("tick"), done = r.u32("number"), margin = r.i8("margin")
        r.done()
        this.fate(now, this.tickOf(tick), done, margin, number)
        return
      }
      case "parley.player": while (r.left > 0) this.member(r); return
      case "chat": {
        const from = decode(r.bytes("name", r.u8("name size")))
        this.note({ type: "chat", name: from, text: decode(r.rest().subarray(0, 4096)) })
        return
      }
      case "terrain": {
        const bx = r.i16("bx"), by = r.i16("by"), cells = new Uint8Array(chunkSide * chunkSide).fill(r.u8("default"))
        for (let i = r.many("count", r.u16("count"), 3); i > 0; i--) {
          const x = r.u8("x"), y = r.u8("y")
          cells[y << 8 | x] = r.u8("value")
        }
        r.done()
        this.terrain.set(bx, by, cells)
        return
      }
    }
    const action = this.schema.actions.find((a) => a.name === name)
    if (!action) return
    const slot = this.slot(r.u16("entity link"), r.u8("id")), tick = this.tickOf(r.u32("tick")), params: Record<string, unknown> = {}
    for (const f of action.fields) set(params, f.path, readField(r, f))
    const id = slot?.wire ?? 0
    this.note({ type: "acted", action: name, params, id, own: id !== 0 && id === this.own, name: this.names.get(id)?.name, tick })
  }

  private enter(now: number, seed: bigint, rate: number, tick: number, mode: string, fingerprint: string): void {
    if (fingerprint !== this.schema.fingerprint) {
      this.failure = `the server plays another game now (${fingerprint}): reload the page`
      return
    }
    rate = Math.max(1, Math.min(rate, 1000))
    if (this.begun) tick = unwrap32(this.newest, tick)
    const same = this.entered && seed === this.seed && rate === this.rate && mode === this.mode
    if (!same || this.begun && tick + 1 < this.newest) {
      if (!this.entered || seed !== this.seed || mode !== this.mode) this.terrain.forget(this.entered)
      this.seed = seed
      this.rate = rate
      this.mode = mode
      this.reset()
    } else {
      this.renew(this.own)
    }
    this.entered = true
    if (!this.begun) this.newest = tick
    this.next = now
  }

  /** reset begins anew, with a world of which nothing was told. */
  private reset(): void {
    this.period = 1000 / this.rate
    this.clock = new Clock(this.rate)
    this.lead = new Lead(this.rate)
    this.newest = this.tick = this.mine = this.at = 0
    this.begun = this.ahead = this.ready = false
    this.inputs = []
    this.probeAt = 0
    this.pending = { tick: 0, number: 0, since: 0, waits: false }
    this.history.clear()
    this.renew(0)
    for (const t of this.tracks.values()) t.samples[0].tick = t.first = 0
    if (this.ownEpoch !== this.epoch) this.own = 0
  }

  /** renew lets go of what connections before have told, but for one entity: a server that was started again has numbered them anew. Messages
   * overtake each other: what this connection has told stays. */
  private renew(but: number): void {
    for (const t of this.tracks.values()) {
      const last = t.samples.at(-1)!
      if (t.wire !== but && (t.epoch !== this.epoch || last.gone)) this.tracks.delete(t.wire)
      t.samples = [last]
    }
  }

  private member(r: Reader): void {
    const what = whats[r.u8("what")], id = r.u16("entity"), name = r.name("name"), via = r.u8("via")
    if (!what) r.fail("what", "is none")
    const was = this.members.get(name)
    if (what === "left" && !was || !was && this.members.size >= maxNames) return
    if (was && this.names.get(was.id) === was) this.names.delete(was.id)
    this.members.delete(name)
    const m: Member = { name, id, away: what === "away" || what === "here" && !!was?.away, dialect: dialects[via & 15], carrier: carriers[via >> 4] }
    if (what !== "left") {
      this.members.set(name, m)
      if (id !== 0) this.names.set(id, m)
    }
    const own = this.own !== 0 && id !== 0 ? id === this.own : name === this.name
    if (own && id !== 0) this.name = name
    if (what === "here" && was || own && (what === "away" || what === "back")) return
    this.note({ type: what, name, id, own, dialect: m.dialect, carrier: m.carrier })
  }

  /** ownName is the name under which the player plays. */
  get ownName(): string { return this.names.get(this.own)?.name ?? this.name }

  // ---- what is told of entities

  private tickOf(wire: number): number { return unwrap32(this.newest, wire) }

  private link(table: Extract<Event, { kind: "linked" }>["table"]): void {
    for (const e of table.entities) {
      const kind = this.schema.kinds.find((k) => k.name === e.name)
      if (!kind) continue
      let k = this.kinds.get(e.link)
      if (k?.kind !== kind) this.kinds.set(e.link, k = { kind, fields: [], slots: new Map() })
      for (const v of e.variables) {
        const i = kind.fields.findIndex((f) => f.name === (v.name === "x,y" ? "x" : v.name))
        if (v.name === "entity") k.fields[v.link] = { entity: true, first: 0, count: 0 }
        else if (i >= 0) k.fields[v.link] = { entity: false, first: i, count: v.name === "x,y" ? 2 : 1 }
      }
    }
  }

  /** hold keeps a packet of values until it is known of which tick it is. */
  private hold(now: number, p: Packet): void {
    let i = this.packets.length
    while (i > 0 && this.packets[i - 1].number > p.number) i--
    this.packets.splice(i, 0, p)
    if (this.packets.length > maxPackets || !this.begun || p.number < this.tickNumber) {
      this.release(this.packets[0].number + 1) // nothing is to come that would say it better
      return
    }
    // What follows the newest tick's packets is of that tick too, and may have the own entity.
    if (this.follow()) {
      const p = this.pending
      p.waits ||= p.since > 0 && p.tick === this.newestTick && this.silence === 0
      this.settle(now, true)
    }
  }

  /** fate takes the message that names a tick. The packets that follow it are of that tick, as far as their numbers do. */
  private fate(now: number, tick: number, done: number, margin: number, number: number): void {
    this.numbers.set(tick, number)
    if (this.numbers.size > 64) this.numbers.delete(Math.min(...this.numbers.keys()))
    if (tick <= this.newestTick && this.newestTick !== 0) {
      this.hears(now, tick)
      return
    }
    this.settle(now, true) // of the tick before
    this.release(number)
    const missed = this.newestTick !== 0 && tick > this.newestTick + 1
    this.newestTick = tick
    this.tickNumber = number
    this.before(tick, missed)
    const complete = this.follow()
    const newer = !this.begun || tick > this.newest
    this.hears(now, tick)
    this.lead.heard(now, tick)
    done = unwrapDone(this.number, done)
    if (newer) {
      this.stats.margin = margin
      this.lead.margin(now, tick, done, margin)
      this.pending = { tick, number: done, since: now, waits: true }
      if (!this.ahead) {
        this.ahead = true
        this.mine = Math.max(0, Math.floor(this.lead.at(now)))
      }
    }
    if (complete) this.settle(now, true)
  }

  /** follow reads the packets that follow the newest tick's message. */
  private follow(): boolean {
    if (this.tickNumber === 0) return false
    let from = this.tickNumber
    for (let i = this.indexOf(from + 1); i >= 0; i = this.indexOf(from + 1)) {
      this.takeValues(this.packets.splice(i, 1)[0])
      from++
    }
    if (from === this.tickNumber) return false
    this.put(this.newestTick)
    this.tickNumber = from
    return true
  }

  private indexOf(number: number): number { return this.packets.findIndex((p) => p.number === number) }

  /** release reads the packets with lower numbers, which are of ticks before. */
  private release(number: number): void {
    while (this.packets.length > 0 && this.packets[0].number < number) {
      const p = this.packets.shift()!
      this.takeValues(p)
      this.put(this.tickOfNumber(p.number))
    }
  }

  private tickOfNumber(number: number): number {
    let best = 0, bestNumber = -1
    for (const [tick, n] of this.numbers) if (n < number && n >= bestNumber) [best, bestNumber] = [tick, n]
    if (best === 0) return this.newest
    return !this.numbers.has(best + 1) && best < this.newestTick ? best + 1 : best
  }

  private takeValues(p: Packet): void {
    for (const e of p.values.entities) {
      const k = this.kinds.get(e.link)
      if (!k) continue
      for (const v of e.variables) {
        const held = k.fields[v.link]
        if (!held) continue
        for (const x of v.values) {
          let s = k.slots.get(x.entity)
          if (!s) k.slots.set(x.entity, s = { kind: k, wire: 0, values: k.kind.fields.map(zero), numbers: [], doubts: [], since: 0, dirty: false })
          if (p.number < s.since || (s.numbers[v.link] ?? 0) > p.number + 1 || !readVariable(s, held, x.data)) continue
          s.numbers[v.link] = p.number + 1
          s.doubts[v.link] = 0
          if (!s.dirty) {
            s.dirty = true
            this.touched.push(s)
          }
        }
      }
    }
  }

  private put(tick: number): void {
    for (const s of this.touched) {
      s.dirty = false
      if (s === this.ownSlot && tick === this.newestTick) {
        this.silence = 0
        this.putOwn(tick)
      } else if (whole(s)) {
        this.putTrack(tick, s, null)
      }
    }
    this.touched = []
    if (this.you && !this.ownSlot) this.find()
  }

  /** before notes, when a tick begins, what of the own entity may have been lost. */
  private before(tick: number, missed: boolean): void {
    const s = this.ownSlot
    if (!s) return
    if (missed) {
      const again = Math.max(4, Math.min(this.mine - Math.min(this.mine, tick) + 4, 40))
      for (let i = 0; i < s.kind.fields.length; i++) s.doubts[i] = tick + again
    }
    this.silence++
    this.putOwn(tick)
  }

  private putOwn(tick: number): void {
    const s = this.ownSlot!
    if (!whole(s)) return
    let doubt: boolean[] | null = null
    s.kind.fields.forEach((v, i) => {
      if (v && !v.entity && (s.doubts[i] > tick || this.silence > 0 && this.silence <= 2)) {
        doubt ??= s.values.map(() => false)
        doubt.fill(true, v.first, v.first + v.count)
      }
    })
    if (!doubt || this.predicting) this.putTrack(tick, s, doubt)
  }

  private find(): void {
    const s = this.you && this.slot(this.you.link, this.you.id)
    if (!s || !whole(s)) return
    this.ownSlot = s
    this.ownEpoch = this.epoch
    if (s.wire === this.own) return
    if (this.tracks.get(this.own)?.epoch !== this.epoch) this.tracks.delete(this.own)
    this.own = s.wire
    this.ready = false
    this.history.clear()
    this.note({ type: "own", id: this.own })
  }

  private slot(link: number, id: number): Slot | null { return this.kinds.get(link)?.slots.get(id) ?? null }

  /** slotGone empties a slot. What overtook the message is of the slot's next entity. */
  private slotGone(link: number, id: number, number: number): void {
    const s = this.slot(link, id)
    if (!s) return
    this.release(number) // what was told before
    if (s.since <= number && s.wire !== 0) this.trackGone(this.newest, s.wire)
    let left = false
    s.numbers.forEach((n, i) => {
      if (n <= number) s.numbers[i] = 0
      else left = true
    })
    s.since = Math.max(s.since, number)
    if (!left) s.wire = 0
    if (s === this.ownSlot) this.ownSlot = null
  }

  private putTrack(tick: number, slot: Slot, doubt: boolean[] | null): void {
    const { wire, values } = slot, { kind } = slot.kind
    let t = this.tracks.get(wire)
    if (t && t.kind !== kind) { // a number that is given again is another entity's
      this.tracks.delete(wire)
      t = undefined
    }
    if (!t) {
      if (this.tracks.size >= maxTracks) return
      this.tracks.set(wire, t = { wire, kind, first: tick, samples: [], epoch: this.epoch })
    }
    t.epoch = this.epoch
    const last = t.samples.at(-1)
    if (!last || last.gone && last.tick < tick) t.first = tick
    const s = sampleAt(t, tick)
    if (!s) return
    s.gone = false
    s.doubt = doubt
    s.values = values.slice()
  }

  private trackGone(tick: number, wire: number): void {
    const t = this.tracks.get(wire), s = t && sampleAt(t, tick)
    if (s) s.gone = true
  }

  private hears(now: number, tick: number): void {
    this.clock.heard(now, tick)
    if (this.begun && tick <= this.newest) return
    this.newest = tick
    this.begun = true
    this.sweep(tick)
  }

  /** sweep lets go of what the connection before has told, and this one has not in its first ticks. */
  private sweep(tick: number): void {
    if (this.swept === this.epoch) return
    if (this.since === 0) this.since = Math.max(tick, 1)
    if (tick < this.since + 5) return
    this.swept = this.epoch
    for (const t of this.tracks.values()) if (t.epoch !== this.epoch) this.tracks.delete(t.wire)
  }

  // ---- time, and what the player does

  private get isReady(): boolean { return !!this.voice && this.ahead }

  private settle(now: number, complete: boolean): void {
    const p = this.pending
    if (p.waits && (complete || now - p.since >= valuesWait)) {
      p.waits = false
      this.judge(now, p.tick, p.number)
    }
  }

  /** handleTimeout brings the client to a time: it runs own ticks, and sends what is due with them. */
  handleTimeout(now: number): void {
    this.settle(now, false)
    this.next = now + this.period
    if (!this.voice) return
    if (!this.ahead) {
      this.call(now)
      return
    }
    const at = this.lead.at(now), tick = Math.max(0, Math.floor(at))
    if (tick > this.mine + maxRun) this.mine = tick - 1
    while (this.mine < tick) {
      this.mine++
      this.at = Math.max(this.at, this.mine)
      this.slack = { x: 0, y: 0 }
      this.turned = false
      if (this.ready) this.runTo(this.mine + 1)
    }
    if (this.sentAt !== tick) {
      this.sentAt = tick
      this.repeat(now)
      if (this.waits) this.sendSteer(now, tick + 1)
    }
    this.at = at
    if (at >= this.probeAt) {
      this.probe(now, tick + 1)
      // At all parts of a tick, as the margin is a whole number of ticks.
      const every = Math.max(1, Math.trunc(this.rate / probesASecond)), part = this.number * phi % 1
      this.probeAt = tick + every + part
    }
    let left = Math.min(this.mine + 1 - at, this.probeAt - at) * this.period
    if (this.pending.waits) left = Math.min(left, valuesWait)
    this.next = now + Math.max(left, 0) + .001 // and not a moment too soon
  }

  /** call sends the first stamp, until the server tells fates. */
  private call(now: number): void {
    if (this.waits && this.own !== 0) {
      this.sendSteer(now, this.newest + 1)
      return
    }
    if (++this.calls < patientCalls || this.calls % patientCalls === 0) this.probe(now, this.newest + 1)
  }

  /** steer has the own entity move in a direction at a speed, until the next call. */
  steer(now: number, angle: number, norm: number): void {
    angle = Math.fround(angle)
    norm = Math.fround(norm)
    if (!Number.isFinite(angle) || !Number.isFinite(norm)) throw new RangeError(`parley: steer: ${angle} and ${norm} must be finite numbers`)
    if (this.steered && this.angle === angle && this.norm === norm) return
    this.angle = angle
    this.norm = norm
    this.steered = this.waits = true
    this.handleTimeout(now)
    if (!this.isReady || !this.waits) return
    const tick = this.mine + 1
    if (this.steerTick !== tick) {
      this.steerTick = tick
      this.steers = 0
    }
    if (++this.steers > steersATick) return // with the next tick
    this.sendSteer(now, tick)
  }

  private sendSteer(now: number, tick: number): void {
    this.waits = false
    const m = this.add(now, tick)
    m.angle = this.angle
    m.norm = this.norm
    this.redo(now)
    this.send(now, m)
  }

  /** act does an action. It returns false if there is no connection. */
  act(now: number, action: Action, params: Record<string, unknown>): boolean {
    const w = new Writer()
    for (const f of action.fields) writeField(w, f, get(params, f.path))
    if (!this.voice) return false
    this.handleTimeout(now)
    const m = this.add(now, this.isReady ? this.mine + 1 : this.newest + 1)
    m.action = action
    m.params = params
    m.data = w.done()
    this.redo(now)
    return this.send(now, m)
  }

  private add(now: number, tick: number): Made {
    if (this.inputs.length >= maxInputs) this.inputs.shift()
    const shown = this.clock.at(now)
    const m: Made = {
      number: ++this.number, tick, made: tick, shown: shown === undefined || shown < 0 ? 0 : Math.min(Math.round(shown), this.newest),
      action: null, params: {}, data: new Uint8Array(), angle: 0, norm: 0, sent: 0, probe: false,
    }
    this.inputs.push(m)
    return m
  }

  private send(now: number, m: Made): boolean {
    if (!this.voice) return false
    if (++m.sent === 1) this.lead.sending(now, m.made, m.number)
    else this.lead.again(m.made)
    const w = new Writer()
    if (m.action) w.bytes(m.data)
    else w.f32(m.angle).f32(m.norm)
    const data = w.u32(m.number >>> 0).u32(m.made >>> 0).u32(m.shown >>> 0).done()
    if (!m.action) return this.voice("unreliable", "steer", data)
    // Reliably, and a copy that waits for nobody: of the two, the server does the first that comes.
    const done = m.sent > 1 || this.voice("reliable", m.action.name, data)
    this.voice("unreliable", m.action.name, data)
    return done
  }

  /** repeat sends again, with a new tick of the client's own, what the server may not have. */
  private repeat(now: number): void {
    this.inputs.forEach((m, i) => {
      const newest = this.inputs.slice(i + 1).every((o) => o.action || o.probe) // of the steers
      if (m.probe && m.sent > 0) return
      if (m.sent === 0 || m.action && m.sent === 1 || !m.action && (newest || m.sent < repeatSteers)) this.send(now, m)
    })
  }

  /** probe sends an input that asks for nothing new: the margin is only told of inputs. */
  private probe(now: number, tick: number): void {
    let angle = this.angle, norm = this.norm
    if (!this.steered) {
      const t = this.tracks.get(this.own), s = t?.samples.at(-1)
      if (!t || !s || s.gone || !t.kind.body) return
      angle = s.values[ANGLE] as number
      norm = s.values[NORM] as number
    }
    const m = this.add(now, tick)
    m.angle = Math.fround(angle)
    m.norm = Math.fround(norm)
    m.probe = true
    this.send(now, m)
  }

  // ---- prediction

  /** judge takes the truth of a tick: the client goes back to it, and does again what it has done since. */
  private judge(now: number, tick: number, number: number): void {
    this.stats.fates++
    this.inputs = this.inputs.filter((m) => m.number > number)
    for (const m of this.inputs) m.tick = Math.max(m.tick, tick + 1)
    const t = this.tracks.get(this.own), s = t && newestSample(t, tick)
    if (!this.predicting || !t?.kind.body || !s || s.gone || !this.ahead) {
      this.ready = false
      return
    }
    this.lookAround(s)
    const part = this.part, was = this.place(part, now), wasReady = this.ready, guessed = this.history.get(tick)
    if (guessed && wasReady && !(s.doubt?.[X] || s.doubt?.[Y])) {
      const off = Math.hypot((guessed[X] as number) - (s.values[X] as number), (guessed[Y] as number) - (s.values[Y] as number))
      if (off > .01) this.stats.wrong++
      if (off > .5) this.stats.large++
    }
    this.state = s.values.map((v, i) => (s.doubt?.[i] && guessed ? guessed[i] : v))
    this.stateTick = tick
    this.history.clear()
    this.history.set(tick, this.state)
    this.ready = true
    this.runTo(this.mine + 1)
    if (!this.ready || !wasReady) return
    const is = this.place(part, now), dx = was.x - is.x, dy = was.y - is.y, turn = remainder(was.angle - is.angle)
    if (dx === 0 && dy === 0 && turn === 0) return
    if (!this.blend.add(now, dx, dy, turn, Math.max(2, snapTicks * (t.kind.max_speed ?? 0)))) this.stats.snapped++
  }

  /** lookAround has the terrain around the own body asked for. */
  private lookAround(s: Sample): void {
    if (!this.schema.solid?.length) return
    const reach = 48, x = s.values[X] as number, y = s.values[Y] as number
    for (const [dx, dy] of [[-reach, -reach], [reach, -reach], [-reach, reach], [reach, reach]]) this.terrain.at(x + dx, y + dy)
  }

  /** runTo runs the own entity up to a tick, that one included. */
  private runTo(last: number): void {
    if (this.stateTick + 1 + maxRun <= last) this.stateTick = last - 1
    this.from = placeOf(this.state)
    const kind = this.tracks.get(this.own)?.kind
    while (this.stateTick < last && kind) {
      const tick = this.stateTick + 1
      if (tick === last) this.from = placeOf(this.state)
      try {
        this.state = this.run(kind, this.state, tick)
      } catch (e) {
        this.predicting = this.ready = false
        this.note({ type: "unpredicted", text: `predict failed, and is not called again: ${e}` })
        return
      }
      this.stateTick = tick
      this.history.set(tick, this.state)
    }
    this.to = placeOf(this.state)
  }

  /** run returns what the own entity is after a tick. */
  private run(kind: Kind, before: Value[], tick: number): Value[] {
    const input: Input = { tick, actions: [], move: (b) => this.mover.move(b) }
    let n = 0
    for (const m of this.inputs) {
      if (m.tick !== tick || n++ >= maxTickInputs) continue
      if (m.action) input.actions.push({ name: m.action.name, params: m.params })
      else if (m.norm >= 0 && m.norm <= Math.fround(kind.max_speed ?? 0)) {
        let norm = rounded(kind.fields[NORM], m.norm)
        if (norm > (kind.max_speed ?? 0)) norm -= kind.fields[NORM].quantum?.step ?? 0
        input.steer = { angle: rounded(kind.fields[ANGLE], m.angle), norm }
      }
    }
    const b = bodyOf(kind, before)
    this.predict(b, input)
    const after = kind.fields.map((f, i): Value => {
      const v = i === X ? b.x : i === Y ? b.y : i === ANGLE ? b.heading : i === NORM ? b.speed : i === SPRITE ? b.sprite : get(b, f.path) as Value
      if (typeof v === "number" && !Number.isFinite(v)) throw new RangeError(`${f.name} is ${v}`)
      return i > SPRITE && typeof v === "number" ? rounded(f, v) : v
    })
    this.mover.round(kind, after, before)
    return after
  }

  /** redo runs the tick after the own one again, as there is a new input for it. The body goes on from where it is drawn. */
  private redo(now: number): void {
    if (!this.ready || !this.isReady) return
    this.at = this.lead.at(now)
    const part = this.part, was = this.place(part, now)
    this.state = this.history.get(this.mine) ?? this.state
    this.stateTick = this.mine
    this.runTo(this.mine + 1)
    if (!this.ready) return
    this.slack = { x: 0, y: 0 }
    this.turned = true
    const is = this.place(part, now)
    if (part < 1) {
      this.slack = { x: was.x - is.x, y: was.y - is.y }
      this.slackFrom = part
    }
  }

  private get part(): number { return Math.max(0, Math.min(this.at - this.mine, 1)) }

  /** place returns where the own entity is drawn. */
  private place(part: number, now: number): Place {
    const p = lerp(this.from, this.to, part)
    if (this.turned) p.angle = this.to.angle
    if (this.slack.x !== 0 || this.slack.y !== 0) {
      const left = (1 - part) / (1 - this.slackFrom)
      p.x += this.slack.x * left
      p.y += this.slack.y * left
    }
    const [dx, dy, turn] = this.blend.at(now)
    return { x: p.x + dx, y: p.y + dy, angle: p.angle + turn }
  }

  // ---- drawing

  /** entities yields what is to be drawn now. The times of its calls must not fall. */
  *entities(now: number): Generator<any> {
    this.handleTimeout(now)
    const shown = this.clock.at(now)
    const tick = shown === undefined ? this.newest : this.tick = Math.max(this.tick, shown)
    this.ownTick = 0
    for (const t of this.tracks.values()) {
      if (t.wire === this.own && this.ready) {
        if (this.isReady) this.at = this.lead.at(now)
        this.ownTick = this.at
        yield this.entity(t, this.state, this.place(this.part, now))
        continue
      }
      let i = 0
      while (i + 1 < t.samples.length && t.samples[i + 1].tick <= tick) i++
      t.samples.splice(0, i)
      const s = t.samples[0]
      if (s.tick > tick && !t.drawn) continue // it is yet to come into sight, unless it was drawn before ticks were told
      if (t.drawn = !s.gone) yield this.entity(t, s.values, t.kind.body ? between(t, tick) : null)
      else if (t.samples.length === 1 && tick >= s.tick + maxSamples) this.tracks.delete(t.wire)
    }
  }

  private entity(t: Track, values: Value[], p: Place | null): any {
    const e: any = bodyOf(t.kind, values)
    if (p) {
      e.x = p.x
      e.y = p.y
      e.heading = p.angle
    }
    const m = this.names.get(t.wire)
    if (m) {
      e.name ??= m.name
      e.dialect ??= m.dialect
    }
    e.id = t.wire
    e.kind = t.kind.name
    e.own = t.wire === this.own
    return e
  }
}

/** usual predicts by the body's speed and walls. */
function usual(b: Body, input: Input): void {
  if (input.steer) {
    b.heading = input.steer.angle
    b.speed = input.steer.norm
  }
  input.move(b)
}

function bodyOf(kind: Kind, values: Value[]): Body {
  const b: any = {}
  kind.fields.forEach((f, i) => {
    if (!kind.body || i > SPRITE) set(b, f.path, values[i])
  })
  if (kind.body) [b.x, b.y, b.heading, b.speed, b.sprite] = values
  return b
}

function readVariable(s: Slot, held: Held, data: Uint8Array): boolean {
  try {
    const r = new Reader(data)
    if (held.entity) {
      const wire = r.u16("entity")
      r.done()
      if (wire > 32767) return false
      s.wire = wire
      return true
    }
    const read: Value[] = []
    for (let i = 0; i < held.count; i++) read.push(readField(r, s.kind.kind.fields[held.first + i] as Field, true))
    r.done()
    read.forEach((v, i) => { s.values[held.first + i] = v })
    return true
  } catch {
    return false
  }
}

/** whole reports whether all variables are known. */
function whole(s: Slot): boolean { return s.wire !== 0 && s.kind.fields.every((f, i) => !f || (s.numbers[i] ?? 0) !== 0) }

/** sampleAt returns the sample for a tick, in its order; null if it would be older than all that are kept. */
function sampleAt(t: Track, tick: number): Sample | null {
  let i = t.samples.length
  while (i > 0 && t.samples[i - 1].tick > tick) i--
  if (i > 0 && t.samples[i - 1].tick === tick) return t.samples[i - 1]
  if (t.samples.length >= Math.max(minSamples, Math.min(maxSamples, Math.trunc(maxValues / Math.max(1, t.kind.fields.length))))) {
    if (i === 0) return null
    t.samples.shift()
    i--
  }
  const s: Sample = { tick, gone: false, doubt: null, values: t.samples[Math.max(i - 1, 0)]?.values ?? [] }
  t.samples.splice(i, 0, s)
  return s
}

function newestSample(t: Track, tick: number): Sample | undefined { return t.samples.findLast((s) => s.tick <= tick) }

function placeOf(values: Value[]): Place { return { x: values[X] as number, y: values[Y] as number, angle: values[ANGLE] as number } }

/** between returns where a body is at a tick. */
function between(t: Track, tick: number): Place {
  const [s, next] = t.samples, from = placeOf(s.values)
  if (!next || next.gone) return from
  const to = placeOf(next.values), start = next.tick - walked(s, next)
  const ticks = next.tick - s.tick, fast = Math.max(s.values[NORM] as number, next.values[NORM] as number, t.kind.max_speed ?? 0)
  // A body that is farther away than it can have walked was placed there.
  if (tick <= start || Math.hypot(from.x - to.x, from.y - to.y) > 2 * fast * ticks + 1) return from
  return lerp(from, to, (tick - start) / (next.tick - start))
}

/** walked returns for how many ticks before a sample a body has been on its way there: it is told when it changes. */
function walked(s: Sample, next: Sample): number {
  const ticks = next.tick - s.tick, fast = Math.max(s.values[NORM] as number, next.values[NORM] as number)
  if (ticks === 1) return 1
  if (fast > 0) {
    const far = Math.hypot((s.values[X] as number) - (next.values[X] as number), (s.values[Y] as number) - (next.values[Y] as number))
    return Math.max(1, Math.min(Math.ceil(far / fast - .01), ticks))
  }
  return ticks <= 3 ? ticks : 1
}

/** lerp returns the place between two. An angle goes the shorter way. */
function lerp(a: Place, b: Place, part: number): Place {
  return { x: a.x + (b.x - a.x) * part, y: a.y + (b.y - a.y) * part, angle: a.angle + remainder(b.angle - a.angle) * part }
}

/** unwrapDone returns the number of an input that was made. */
function unwrapDone(newest: number, wire: number): number {
  let n = Math.floor(newest / 2 ** 32) * 2 ** 32 + wire
  if (n > newest && n >= 2 ** 32) n -= 2 ** 32
  return Math.min(n, newest)
}
