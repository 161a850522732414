// The sending side: it numbers packets, keeps the reliable ones until they are acknowledged, and decides what goes out when. Times are
// milliseconds of any clock that does not go back.

/** Random is a source of numbers from 0 to 1. */
export type Random = () => number

/** Flight is a reliable packet that is not acknowledged yet. */
export interface Flight {
  number: number
  data: Uint8Array<ArrayBuffer>
  lane: number // 1 links, 2 messages, 0 unordered
  tag: string // told with the acknowledgement
  state: "queued" | "flying" | "lost" | "done"
  first: number
  last: number
  due: number
  tx: number // the place of its datagram among all
  resends: number // by timer, which count as tries
  fast: number // because later packets were acknowledged
  byTimer: boolean
  copies: number
  copyAt: number
}

// The limits of replica's page: "the sender never uses a number more than 4,096 beyond the newest one that was acknowledged, nor beyond
// its oldest reliable packet still in flight".
const span = 4096
// maxBytes bounds what is kept, for a server that takes nothing.
const maxBytes = 256 << 10
const firstRTO = 250, minRTO = 20, maxRTO = 2000, varFloor = 10, maxBackoff = 2000, tries = 10
const mss = 1200, minWindow = 4 * mss, firstWindow = 12 * mss
/** small packets get copies ahead of loss, and pass a queue of bulk data. */
const small = 256

/** Sender is the sending side of a connection. */
export class Sender {
  next: number
  srtt = 0
  failed = false
  bundles = false
  private variance = 0
  private least = 0
  private newestAcked: number
  private reliable: number // the newest number of a reliable packet
  private readonly flights = new Map<number, Flight>() // by number, which is their order
  private bytes = 0
  private inFlight = 0
  private window = firstWindow
  private threshold = Infinity
  private recoveredTx = 0
  private tx = 1
  private top: [number, number, number] = [0, 0, 0] // the newest three datagrams of which a packet was acknowledged
  private readonly last = [0, 0, 0] // newest number by lane
  private readonly unacked = [0, 0, 0]
  // Each transmission of a reliable packet is acknowledged on its own, so their numbers tell the loss. Older ones count less. A new path is taken
  // for one that loses packets.
  private transmitted = 32
  private acknowledged = 31
  private copying = false
  private credit = 4096
  private filled = 0
  private readonly random: Random
  private readonly early: boolean

  constructor(first: number, random: Random, early: boolean) {
    this.next = first
    this.newestAcked = first - 1
    this.reliable = first - 1
    this.random = random
    this.early = early
    this.copying = early // until the path is known to lose nothing
  }

  get pending(): number { return this.flights.size }

  /** lossShare is the share of packets that one direction is measured to lose, if both lose alike. What is in flight is not judged yet. */
  get lossShare(): number { return 1 - Math.sqrt(Math.min(1, this.acknowledged / Math.max(this.transmitted - this.flights.size, 1))) }

  private get oldest(): Flight | undefined { return this.flights.values().next().value }

  private get spanUsed(): boolean {
    const oldest = this.oldest
    return this.next - this.newestAcked > span || oldest !== undefined && this.next - oldest.number >= span
  }

  /** ready reports whether a reliable packet of n bytes would be taken. An eighth of the room is kept for small ones. */
  ready(n: number): boolean {
    return !this.failed && !this.spanUsed && (this.flights.size === 0 || this.bytes + n <= (n <= small ? maxBytes : maxBytes * 7 / 8))
  }

  /** send takes a reliable packet, which has the next number. */
  send(data: Uint8Array<ArrayBuffer>, lane: number, tag = ""): void {
    const number = this.next++
    this.flights.set(number, {
      number, data, lane, tag, state: "queued", first: 0, last: 0, due: 0, tx: 0, resends: 0, fast: 0, byTimer: false, copies: 0, copyAt: Infinity,
    })
    this.bytes += data.length
    this.reliable = number
    if (lane > 0) {
      this.last[lane] = number
      this.unacked[lane]++
    }
  }

  /** take takes the next number for an unreliable packet, or −1 if the span is used up. */
  take(): number { return this.failed || this.spanUsed ? -1 : this.next++ }

  /** sinceReliable: "at least one of any 2,048 consecutive numbers is a reliable packet". */
  get sinceReliable(): number { return this.next - 1 - this.reliable }

  /** link returns how many numbers back the packet before is in a lane, 0 if all of it are acknowledged. */
  link(lane: number): number { return this.unacked[lane] === 0 ? 0 : this.next - this.last[lane] }

  inLane(lane: number): number { return this.unacked[lane] }

  /** sample takes a measured round trip, smoothed as RFC 6298 says. */
  sample(ms: number): void {
    if (!(ms > 0)) return
    if (this.least === 0 || ms < this.least) this.least = ms
    ms = Math.min(Math.max(ms, 1), 10_000)
    if (this.srtt === 0) {
      this.srtt = ms
      this.variance = ms / 2
      return
    }
    this.variance += (Math.abs(this.srtt - ms) - this.variance) / 4
    this.srtt += (ms - this.srtt) / 8
  }

  private get rto(): number {
    if (this.srtt === 0) return firstRTO
    return Math.min(Math.max(this.srtt + Math.max(4 * this.variance, varFloor), minRTO), maxRTO)
  }

  /** delay is how long a transmission may take: doubled with each resend by timer, and then with some jitter. */
  private delay(f: Flight): number {
    if (f.resends === 0) return this.rto
    const d = Math.min(this.rto * 2 ** Math.min(f.resends, 16), maxBackoff)
    return d + d / 8 * this.random()
  }

  /** ack takes the acknowledgement of a number. It returns the packet with the first, null otherwise; undefined if it was never sent. */
  ack(now: number, n: number): Flight | null | undefined {
    const f = this.flights.get(n)
    if (n >= this.next || f?.state === "queued") return undefined
    this.acknowledged++
    this.newestAcked = Math.max(this.newestAcked, n)
    if (!f) return null
    if (f.resends + f.fast === 0) {
      // "a repeated ack gives no second sample of the round trip", and one of a packet that was resent gives none.
      this.sample(now - f.first)
      this.noteTop(f.tx)
    } else if (f.resends + f.fast === 1 && now - f.last < this.least * 3 / 4) {
      this.sample(now - f.first) // nothing travels that fast: it was late, not lost
    }
    if (f.state === "flying") this.inFlight -= f.data.length
    if (f.lane > 0) this.unacked[f.lane]--
    this.bytes -= f.data.length
    f.state = "done"
    this.flights.delete(n)
    this.window += this.window < this.threshold ? f.data.length : Math.ceil(mss * f.data.length / this.window)
    this.findLost(now)
    return f
  }

  private noteTop(tx: number): void {
    const t = this.top
    if (t.includes(tx)) return
    t.push(tx)
    t.sort((a, b) => b - a)
    t.pop()
  }

  /** findLost: "a packet is taken for lost when acks came for packets of three datagrams that left after its own", once a round trip. */
  private findLost(now: number): void {
    for (const f of this.flights.values()) {
      if (f.state !== "flying" || f.tx >= this.top[2] || now - f.last < (f.fast > 0 ? this.srtt : f.last !== f.first ? this.least : 0)) continue
      this.toResend(f, true)
    }
  }

  private toResend(f: Flight, fast: boolean): void {
    f.byTimer = !fast
    if (fast) f.fast++
    else f.resends++
    f.state = "lost"
    this.inFlight -= f.data.length
    // A lost packet makes the window smaller, once a round trip. The loss of a path that has room is no queue, so not by much.
    if (f.tx >= this.recoveredTx) {
      this.recoveredTx = this.tx
      this.window = Math.max(this.window * (fast ? 7 : 4) / 8, minWindow)
      this.threshold = this.window
    }
  }

  get nextTimeout(): number {
    let next = Infinity
    for (const f of this.flights.values()) if (f.state === "flying") next = Math.min(next, f.due, f.copies > 0 ? f.copyAt : Infinity)
    return next
  }

  /** handleTimeout takes packets for lost whose time is up. "After 10 resends (about 10 s) the connection is lost." */
  handleTimeout(now: number): void {
    let first = true
    for (const f of this.flights.values()) {
      if (f.state === "flying" && f.due <= now) {
        if (first && f.resends >= tries) {
          this.close()
          this.failed = true
          return
        }
        this.toResend(f, false)
      }
      first = false
    }
    this.findLost(now)
  }

  /** begin begins a datagram: all packets that poll and ride return until the next leave in it. */
  begin(): void { this.timed = false }
  private timed = false

  /** poll returns the next packet that is due and has at most room bytes: a resend, a copy, or a new one. */
  poll(now: number, room: number): Flight | null {
    let copy: Flight | null = null, fresh: Flight | null = null
    for (const f of this.flights.values()) {
      if (f.data.length > room) {
        if (f.state !== "flying") break
        continue
      }
      if (f.state === "lost") return this.transmit(now, f)
      if (f.state === "flying" && f.copies > 0 && f.copyAt <= now) copy ??= f
      if (f.state === "queued" && !fresh && (f.data.length <= small && f.lane < 2 || this.inFlight + f.data.length <= this.window || this.inFlight === 0)) fresh = f
      if (f.state === "queued" && f.lane === 2 && fresh !== f) break // in order
      if (fresh) break
    }
    if (copy && this.mayCopy(now, copy)) return this.copy(now, copy)
    return fresh && this.transmit(now, fresh)
  }

  /** ride returns a copy ahead of loss that is not due yet: the datagram leaves anyway. */
  ride(now: number, room: number): Flight | null {
    if (!this.early) return null
    for (const f of this.flights.values()) {
      if (f.state === "flying" && f.copies > 0 && now - f.last >= 1 && f.data.length <= room && this.mayCopy(now, f)) return this.copy(now, f)
    }
    return null
  }

  private mayCopy(now: number, f: Flight): boolean {
    if (f.resends + f.fast > 0) {
      f.copies = 0
      return false
    }
    // Copies have a budget, so that they are no burden where much is sent.
    this.credit = Math.min(this.credit + Math.min(now - this.filled, 1000) * 16.384, 4096)
    this.filled = now
    if (this.credit < f.data.length) {
      f.copies = 0
      return false
    }
    this.credit -= f.data.length
    return true
  }

  private copy(now: number, f: Flight): Flight {
    this.transmitted++
    f.last = now
    f.due = now + this.delay(f)
    f.copies--
    f.copyAt = now + (this.bundles ? 5 : 1) * this.spacing
    return f
  }

  /** spacing is how long after a packet its copy follows if no datagram leaves before: a fourteenth of the round trip, 3 to 4 ms. */
  private get spacing(): number { return Math.min(Math.max(this.srtt / 14, 3), 4) }

  private transmit(now: number, f: Flight): Flight {
    const fresh = f.state === "queued"
    if (fresh) {
      f.first = now
      if (this.early && this.copying && f.data.length <= small) {
        const late = this.lossShare ** 2 * Math.min(Math.max(this.unacked[f.lane] * 4 / 3, 1), 8)
        f.copies = late <= .0025 ? 1 : late * this.lossShare <= .0025 ? 2 : 3
        f.copyAt = now + this.spacing
      }
    }
    f.state = "flying"
    f.last = now
    f.due = now + this.delay(f)
    if (!this.timed) {
      this.timed = true
      this.tx++
    }
    f.tx = this.tx - 1
    this.inFlight += f.data.length
    if (++this.transmitted > 1024) {
      this.transmitted *= .75
      this.acknowledged *= .75
    }
    this.copying = this.early && this.lossShare >= (this.copying ? .005 : .01)
    return f
  }

  close(): void {
    this.flights.clear()
    this.bytes = this.inFlight = 0
    this.unacked.fill(0)
  }
}
