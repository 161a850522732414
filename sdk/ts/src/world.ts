// A player's world: the connection, which comes back by itself when it is lost, and the picture of what the server tells.

import { Connection, clock } from "./connection.ts"
import type { Event } from "./endpoint.ts"
import { Picture } from "./picture.ts"
import type { Member, Note, Predict, Stats } from "./picture.ts"
import type { Action, Schema } from "./schema.ts"
import { bytesOf, openWebSocket, openWebTransport } from "./transport.ts"
import type { Transport } from "./transport.ts"
import { Writer, decode, encode } from "./wire.ts"

/** Game is the types of a game, as `parley schema --ts` writes them. */
export interface Game { fingerprint: string; kinds: object; actions: object }
/** AnyGame is a game of which no types are known. */
export interface AnyGame { fingerprint: string; kinds: Record<string, Record<string, any>>; actions: Record<string, Record<string, any>> }

/** Base is what every entity has. */
export interface Base {
  /** The number of the entity. It keeps it while it lives. */
  id: number
  /** It is the player's own. */
  own: boolean
  /** With a body: where it is, in cells, y up; where it looks, in radians from x towards y; its speed, in cells a tick; its sprite. */
  x: number; y: number; heading: number; speed: number; sprite: number
  /** The player whose own entity it is, unless its kind has fields of these names. */
  name?: string; dialect?: string
}
/** Entity is any entity of a game: its kind says which fields it has. */
export type Entity<G extends Game = AnyGame> = string extends keyof G["kinds"]
  ? Base & { kind: string; [field: string]: any }
  : { [K in keyof G["kinds"] & string]: Omit<Base, keyof G["kinds"][K]> & { kind: K } & G["kinds"][K] }[keyof G["kinds"] & string]

/** Player is a player of the room. */
export type Player = Member

/** State is how the player is connected. */
export type State = "connecting" | "playing" | "away" | "ended"

/** Acted is an action that an entity in sight has done. */
export type Acted<G extends Game = AnyGame> = {
  [A in keyof G["actions"] & string]: { type: "acted"; action: A; params: G["actions"][A]; id: number; own: boolean; name?: string; tick: number }
}[keyof G["actions"] & string]
/** PlayerEvent is a player who joined, left, lost its connection or came back. With own it is this player. */
export interface PlayerEvent { type: string; name: string; id: number; own: boolean; dialect?: string }

/**
 * Fate is how a connection ended, or what an error of join means. lost: it broke, or nobody answers. busy: the server has no place now. refused: it does
 * not take the session, the ticket or the room. over: the player was told to go, or has left. text is for people: a kick may say anything.
 */
export type Fate = "lost" | "busy" | "refused" | "over"

/** Events are what world.on tells of. */
export interface Events<G extends Game = AnyGame> {
  chat: { type: "chat"; name: string; text: string }
  here: PlayerEvent; joined: PlayerEvent; left: PlayerEvent; away: PlayerEvent; back: PlayerEvent
  acted: Acted<G>
  own: { type: "own"; id: number }
  ended: { type: "ended"; text: string; fate: Fate }
  state: { type: "state"; state: State; text: string }
  unpredicted: { type: "unpredicted"; text: string }
}

/** Server is what /play/server says. */
export interface Server {
  game: string; fingerprint: string; tick_rate: number; dialects?: Record<string, unknown>; wt?: { port: number; hashes?: string[] }; schema: Schema
  [more: string]: unknown
}

/** JoinOptions say who joins, and how. */
export interface JoinOptions<G extends Game = AnyGame> {
  /** The wanted name. */
  name?: string
  /** An open room. Default: main. */
  room?: string
  /** Wait for others who want the same mode, and play with them in a room of their own. */
  match?: string | { mode?: string; players?: number }
  /** A ticket, in hex or as bytes. */
  ticket?: string | Uint8Array
  /** world.session of an earlier page: the player goes on where that one stopped. */
  session?: string
  /** Use only this carrier. Default: WebTransport, and a WebSocket where that does not come through. */
  carrier?: "wt" | "ws"
  /** The game's types and fingerprint, as `parley schema --ts` writes them. A server of another game is an error. */
  game?: G
  /** How the own entity is predicted: by its speed and walls, by this function, or not at all. */
  predict?: Predict | false
  onstate?: (state: State, text: string) => void
  /** For tests: another way to the server. */
  open?: () => Promise<Transport>
  /** For tests, and for a page that has it already: what /play/server said. */
  server?: Server
}

const wtPatience = 2000, wsPatience = 5000, handshakePatience = 3000, enterPatience = 12_000, steady = 5000, maxKept = 32, maxText = 512
const waits = [0, 500, 1000] // and then 2000
const refusals = ["no such session", "no such room", "room needs a ticket", "ticket is not valid", "ticket was used"]

interface End { fate: Fate; text: string }
interface Kept { action?: string; params?: Record<string, unknown>; text?: string; since: number }

/** World is the game as this player sees it. */
export class World<G extends Game = AnyGame> {
  readonly server: Server
  state: State = "connecting"
  /** session is the token with which the player can come back on another page, "" before the server has told it. */
  session = ""
  /** carrier is what brings the packets: "wt" or "ws". */
  carrier = ""
  private base: string // of the server, the page's own or one that has taken its place
  private readonly home: string
  private moved: string[] = [] // where the server has the player go on, which ends the connection in a moment: a word of little weight
  private readonly options: JoinOptions<G>
  private readonly picture: Picture
  private readonly listeners = new Map<string, Set<(ev: any) => void>>()
  private connection: Connection | null = null
  private previous = ""
  private hold = 30
  private first: Uint8Array | undefined // the pass of the first connection
  private tick: ReturnType<typeof setTimeout> | undefined
  private kept: Kept[] = []
  private leaving = false
  private drawn: Iterable<Entity<G>> = []
  private drawnAt = -Infinity

  constructor(base: string, server: Server, options: JoinOptions<G>) {
    this.base = this.home = base
    this.server = server
    this.options = options
    this.first = passOf(options)
    this.session = options.session ?? ""
    this.picture = new Picture(server.schema, { name: options.name, predict: options.predict, note: (n) => this.emit(n) })
    this.picture.terrain.now = clock
  }

  /** on calls a listener for each event of a type. It returns a function that ends that. */
  on<T extends keyof Events<G>>(type: T, listener: (ev: Events<G>[T]) => void): () => void {
    let set = this.listeners.get(type)
    if (!set) this.listeners.set(type, set = new Set())
    set.add(listener)
    return () => { set.delete(listener) }
  }

  private emit(n: Note): void {
    for (const listener of this.listeners.get(n.type) ?? []) {
      try {
        listener(n)
      } catch (e) {
        setTimeout(() => { throw e }) // the page's own fault, not that of the connection
      }
    }
  }

  private become(state: State, text = ""): void {
    if (this.state === state) return
    this.state = state
    this.options.onstate?.(state, text)
    this.emit({ type: "state", state, text })
  }

  // ---- what the player does

  /** steer has the own entity move in a direction, in radians, at a number of cells a tick, until the next call. 0 stops it. */
  steer(angle: number, norm: number): void {
    this.picture.steer(clock(), angle, norm)
    this.stir()
  }

  /**
   * act does an action of the game. What is done while the connection is lost is done when it is back, if the player's place was held for so long.
   * It returns false if it cannot be done: too much waits, or the player is out of the game.
   */
  act<A extends keyof G["actions"] & string>(action: A, ...params: {} extends G["actions"][A] ? [params?: G["actions"][A]] : [params: G["actions"][A]]): boolean {
    return this.do({ action, params: (params[0] ?? {}) as Record<string, unknown>, since: clock() })
  }

  /** say says a line of chat, of at most 512 bytes of UTF-8. */
  say(text: string): boolean {
    const n = encode(text).length
    if (n > maxText) throw new RangeError(`parley: a line of ${n} bytes: the limit is ${maxText}`)
    return n === 0 || this.do({ text, since: clock() })
  }

  private do(k: Kept): boolean {
    if (this.state === "ended") return false
    if (this.state === "playing" && !this.moved[0] && this.send(k)) {
      this.stir()
      return true
    }
    this.actionOf(k)
    if (this.kept.length >= maxKept) return false
    this.kept.push(k)
    return true
  }

  private actionOf(k: Kept): Action | undefined {
    const action = this.schema.actions.find((a) => a.name === k.action)
    if (k.action && !action) throw new TypeError(`parley: the game has no action ${k.action}`)
    return action
  }

  private send(k: Kept): boolean {
    const action = this.actionOf(k)
    return action ? this.picture.act(clock(), action, k.params!) : !!this.connection?.endpoint.send("ordered", "chat", encode(k.text!))
  }

  /** stir sends what waits, and sets the timer of the own ticks. */
  private stir(): void {
    this.connection?.run()
    clearTimeout(this.tick)
    if (this.state === "ended" || this.picture.next === Infinity) return
    this.tick = setTimeout(() => {
      this.picture.handleTimeout(clock())
      this.stir()
    }, Math.max(1, this.picture.next - clock()))
  }

  // ---- what is to be drawn

  /** entities yields what is to be drawn at a time: performance.now(), or what requestAnimationFrame tells. */
  entities(_now?: number): Iterable<Entity<G>> {
    // The time of a frame may be before that of a packet that has come since.
    this.drawn = [...this.picture.entities(clock())]
    this.drawnAt = clock()
    this.connection?.run()
    return this.drawn
  }

  /** schema says what the game is made of: kinds, actions, and what stops bodies. */
  get schema(): Schema { return this.server.schema }

  /** own is the own entity as it was drawn last; undefined while there is none. */
  get own(): Entity<G> | undefined {
    const list = clock() - this.drawnAt < 100 ? this.drawn : this.entities()
    for (const e of list) if ((e as any).own) return e
    return undefined
  }

  /** ownId is the number of the own entity, 0 while there is none. */
  get ownId(): number { return this.picture.own }

  /** name is the name under which the player plays. */
  get name(): string { return this.picture.ownName }

  /** players are the players of the room, this one included. */
  get players(): Player[] { return [...this.picture.members.values()] }

  /** terrain is what is known of the cells: at(x, y), and chunk(bx, by) with 256 × 256 of them. What is undefined has been asked for. */
  get terrain(): { at(x: number, y: number): number | undefined; chunk(bx: number, by: number): Uint8Array | undefined; solid(x: number, y: number): boolean } {
    return this.picture.terrain
  }

  /** tickRate is how many ticks a second the world makes; seed and mode are those of the room. */
  get tickRate(): number { return this.picture.rate }
  get seed(): bigint { return this.picture.seed }
  get mode(): string { return this.picture.mode }

  /** rtt is the round trip in ms, and loss the share of the last hundred or so ticks of which the server's packets did not come. Over a WebSocket nothing is lost. */
  get rtt(): number { return this.connection?.endpoint.rtt ?? 0 }
  get loss(): number { return this.connection?.transport.lossy ? this.picture.clock.loss : 0 }

  /** ticks says at which tick others are drawn, and at which the own entity, 0 if it is not predicted. */
  get ticks(): { others: number; own: number } { return { others: this.picture.tick, own: this.picture.ownTick } }

  /** stats count what was predicted, and how well. */
  get stats(): Stats { return this.picture.stats }

  // ---- the connection

  /** leave ends the game for this player. */
  leave(): void {
    if (this.state === "ended") return
    this.leaving = true
    this.connection?.close()
    this.over({ fate: "over", text: "you have left" })
  }

  private over(end: End): void {
    clearTimeout(this.tick)
    this.picture.lost()
    this.become("ended", end.text)
    this.emit({ type: "ended", ...end })
  }

  /** start makes the first connection. It is done when the server has let the player in. */
  async start(): Promise<void> {
    const pass = this.session ? sessionPass(this.session) : this.first
    const end = await this.connect(pass)
    if (end) {
      this.leaving = true
      this.over(end)
      throw failed(end.text, end.fate)
    }
  }

  /** connect opens a connection and enters. It returns how that ended if it did not work out. */
  private async connect(pass: Uint8Array | undefined): Promise<End | null> {
    const { carrier, open } = this.options
    for (const wt of open || carrier === "ws" || !this.server.wt ? [false] : carrier ? [true] : [true, false]) {
      let transport: Transport
      const since = clock()
      try {
        transport = await (open?.() ?? (wt ? this.openWT() : openWebSocket(this.base.replace(/^http/, "ws") + "/ws/replica", wsPatience)))
      } catch {
        continue
      }
      const end = await this.enter(transport, pass, wt && !carrier ? Math.max(wtPatience - (clock() - since), 500) : handshakePatience)
      if (end !== "silent") return end
    }
    return { fate: "lost", text: `no server answers at ${this.base}` }
  }

  private openWT(): Promise<Transport> {
    const { wt } = this.server, url = new URL(this.base)
    return openWebTransport(`https://${url.hostname}:${wt!.port}/wt/replica`, wt!.hashes ?? [], wtPatience)
  }

  /** enter does the handshake, shows the pass, and is done when the server has told its world. */
  private enter(transport: Transport, pass: Uint8Array | undefined, patience: number): Promise<End | "silent" | null> {
    return new Promise((resolve) => {
      let entered = false, began = clock()
      const stop = (end: End | "silent") => {
        clearTimeout(late)
        c.drop()
        resolve(end)
      }
      let late = setTimeout(() => stop("silent"), patience)
      const c = new Connection(transport, { pass }, (now, ev) => {
        // Who has left meanwhile is let in first: the place of a pass that was shown is given up by a goodbye of the player who has it.
        if (this.leaving && ev.kind !== "closed" && ev.kind !== "connected") return c.close()
        switch (ev.kind) {
          case "connected":
            clearTimeout(late)
            late = setTimeout(() => stop({ fate: "lost", text: "the server has not let the player in" }), enterPatience)
            this.picture.connected(now, (mode, name, data) => c.endpoint.send(mode, name, data))
            c.endpoint.link()
            return
          case "closed":
            clearTimeout(late)
            if (!entered) resolve(ending(ev, false))
            else if (this.connection === c) this.lose(ending(ev, true), now - began)
            return
          case "message":
            if (ev.name === "parley.session") {
              this.previous = pass && pass[0] === 0x53 ? this.session : ""
              this.session = hexOf(ev.data.subarray(0, 16))
              this.hold = ev.data[16] | ev.data[17] << 8
            } else if (ev.name === "parley.moved") this.moved = decode(ev.data).split(",", 4)
        }
        this.picture.read(now, ev)
        if (this.picture.failure) {
          const end: End = { fate: "over", text: this.picture.failure }
          this.leaving = true
          c.close()
          clearTimeout(late)
          if (entered) this.over(end)
          else resolve(end)
        }
        if (ev.kind !== "message" || ev.name !== "parley.world" || entered || this.leaving) return
        entered = true
        began = now
        clearTimeout(late)
        this.connection = c
        this.carrier = transport.name
        c.endpoint.send("reliable", "parley.player", new Uint8Array([1])) // with how each is connected
        const back = this.state === "away"
        this.moved = []
        this.become("playing")
        if (back) this.emit({ type: "back", name: this.name, id: this.ownId, own: true })
        for (const k of this.kept.splice(0)) if (clock() - k.since <= this.hold * 1000) this.send(k)
        resolve(null)
        setTimeout(() => this.stir())
      })
    })
  }

  /** lose notes that the connection is lost, and comes back if that makes sense. */
  private lose(end: End, lasted: number): void {
    this.connection = null
    if (this.state === "ended") return
    if (this.leaving || end.fate !== "lost" || !this.session) {
      this.over(end)
      return
    }
    this.picture.lost()
    this.become("away", end.text)
    this.emit({ type: "away", name: this.name, id: this.ownId, own: true, text: end.text })
    void this.comeBack(lasted < steady ? 2 : 0)
  }

  /** comeBack tries until the player is there again, or its place is no longer held. */
  private async comeBack(tries: number): Promise<void> {
    const until = clock() + this.hold * 1000, tokens = [this.session, this.previous].filter((t) => t)
    let end: End = { fate: "lost", text: "the connection was lost" }
    while (tokens.length > 0) {
      const wait = (waits[tries++] ?? 2000) * (.75 + Math.random() / 2)
      if (clock() + wait > until) break
      await new Promise((done) => setTimeout(done, wait))
      // An address that was told is tried once, over what this page came over, and what is said there of the player's place does not count.
      const told = this.moved.shift()
      this.base = told ? this.home.replace(/[^/]+$/, told) : this.home
      const there = await this.look()
      if (this.state !== "away") return
      if (!there) continue
      this.session = tokens[0]
      const how = await this.connect(sessionPass(tokens[0]))
      if (!how || (this.state as State) === "ended") return
      if (told) continue
      end = how
      if (how.fate === "over") break
      if (how.fate === "refused") {
        tokens.shift() // the token before may still be the one that the server knows
        tries--
      }
    }
    this.over(end)
  }

  /** look asks what the server says of itself, before each dial: the certificates of one that was started again are others. It reports whether it is there. */
  private async look(): Promise<boolean> {
    try {
      if (!this.options.server) this.server.wt = (await fetchServer(this.base, 2000)).wt
      return true
    } catch {
      return false
    }
  }
}

/** ending says what the end of a connection means for a player who would come back. */
function ending({ reason, text }: Extract<Event, { kind: "closed" }>, entered: boolean): End {
  let fate: Fate = "lost"
  switch (reason) {
    case "protocol": case "overflow": case "closed": fate = "over"; break
    case "peer": case "rejected":
      if (text && text !== "server closing") fate = entered ? "over" : refusals.includes(text) ? "refused" : "busy" // over: kicked, or resumed elsewhere
  }
  return { fate, text: text || "the connection was lost" }
}

/** failed returns an error of join. Without a fate it is the page's own, or that of a server that has decided. */
function failed(text: string, fate?: Fate): Error { return Object.assign(new Error("parley: " + text), { fate }) }

function sessionPass(token: string): Uint8Array { return new Uint8Array([0x53, ...bytesOfHex(token)]) }

function passOf(o: JoinOptions<any>): Uint8Array | undefined {
  if (o.ticket) return typeof o.ticket === "string" ? bytesOfHex(o.ticket) : o.ticket
  if (o.room && !/^[a-z0-9-]{1,32}$/.test(o.room)) throw new RangeError(`parley: ${o.room} is no name of a room: 1 to 32 of a-z, 0-9 and -`)
  return o.room || o.name ? new Writer().u8(0x52).name(o.room || "main").name(o.name ?? "").done() : undefined
}

function bytesOfHex(text: string): Uint8Array {
  if (!/^([0-9a-f]{2})+$/i.test(text)) throw new RangeError("parley: a ticket and a session are written in hex")
  return bytesOf(text)
}

function hexOf(b: Uint8Array): string { return Array.from(b, (x) => x.toString(16).padStart(2, "0")).join("") }

async function ask(url: string, patience: number, init: RequestInit = {}): Promise<any> {
  let answer: Response
  try {
    answer = await fetch(url, { ...init, signal: AbortSignal.timeout(patience) })
  } catch {
    throw failed(`no server answers at ${url}: check the address`, "lost")
  }
  const body = answer.status === 204 ? null : await answer.json().catch(() => ({}))
  // What has no error of ours is from a proxy whose server is gone.
  if (!answer.ok) throw failed(`the server refuses ${url}: ${body?.error ?? answer.status}`, body?.error && answer.status !== 429 ? "over" : "lost")
  return body
}

async function fetchServer(base: string, patience: number): Promise<Server> {
  const s = await ask(base + "/play/server", patience)
  if (!s?.schema) throw failed(`${base} is no server of this version: it tells no schema`)
  return s
}

/** join joins a game. It is done when the server has let the player in, and its error is a sentence that can be shown. */
export async function join<G extends Game = AnyGame>(url: string, options: JoinOptions<G> = {}): Promise<World<G>> {
  const base = new URL(url, (globalThis as any).location?.href).href.replace(/\/+$/, "")
  if (!options.open && !globalThis.WebSocket) throw failed("there is no WebSocket here: browsers and Node 22 have one")
  options.onstate?.("connecting", "")
  const server = options.server ?? await fetchServer(base, 5000)
  if (options.game && options.game.fingerprint !== server.fingerprint) {
    throw failed(`the server plays another game or version (${server.fingerprint}) than this page: write its types anew with "parley schema --ts"`)
  }
  if (options.match !== undefined && !options.session) {
    const { mode = "", players = 2 } = typeof options.match === "string" ? { mode: options.match } : options.match
    const found = await ask(base + "/play/match", 40_000, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name: options.name ?? "", mode, players }),
    })
    if (!found) throw failed("nobody was found to play with: try again")
    options = { ...options, ticket: found.ticket }
  }
  const world = new World<G>(base, server, options)
  await world.start()
  return world
}
