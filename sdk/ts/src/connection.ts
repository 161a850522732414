// One connection: an endpoint over a transport, with the timers that it needs.

import { Endpoint } from "./endpoint.ts"
import type { Event, Options } from "./endpoint.ts"
import type { Transport } from "./transport.ts"

/** clock is the time of everything, in ms. */
export const clock = (): number => performance.now()

/** Connection runs an endpoint. */
export class Connection {
  readonly endpoint: Endpoint
  readonly transport: Transport
  private readonly tell: (now: number, ev: Event) => void
  private timer: ReturnType<typeof setTimeout> | undefined
  private due = Infinity
  private running = false
  private dead = false

  constructor(transport: Transport, options: Options, tell: (now: number, ev: Event) => void) {
    this.transport = transport
    this.tell = tell
    this.endpoint = new Endpoint(clock(), { early: transport.lossy, maxPacket: transport.maxPacket, ...options })
    transport.onmessage = (b) => {
      const now = clock()
      this.endpoint.handleDatagram(now, b)
      // Timers of hidden pages are slow, and messages are not: what is due is done with each.
      if (this.endpoint.nextTimeout <= now) this.endpoint.handleTimeout(now)
      this.run()
    }
    transport.onclose = () => {
      if (this.dead) return
      this.finish(false)
      tell(clock(), { kind: "closed", reason: "timeout", text: "the connection was lost" })
    }
    this.run()
  }

  /** run tells what has happened, sends what is to go, and sets the timer. */
  run(): void {
    if (this.running || this.dead) return // a listener does something: it goes with the rest
    this.running = true
    const e = this.endpoint
    let ended: Event | undefined
    for (let ev = e.events.shift(); ev; ev = e.events.shift()) {
      if (ev.kind === "closed") ended = ev
      else this.tell(clock(), ev)
    }
    for (let b = e.poll(clock()); b; b = e.poll(clock())) this.transport.send(b)
    this.running = false
    if (ended) {
      this.finish(true)
      this.tell(clock(), ended)
      return
    }
    const next = e.nextTimeout
    if (next === this.due && this.timer !== undefined) return
    this.due = next
    clearTimeout(this.timer)
    this.timer = setTimeout(() => {
      this.timer = undefined
      e.handleTimeout(clock())
      this.run()
    }, Math.max(0, Math.min(next - clock(), 60_000)))
  }

  /** close says goodbye. */
  close(): void {
    this.endpoint.close(clock())
    this.run()
  }

  /** drop lets go without a goodbye. */
  drop(): void { this.finish(true) }

  private finish(close: boolean): void {
    if (this.dead) return
    this.dead = true
    clearTimeout(this.timer)
    if (close) this.transport.close()
  }
}
