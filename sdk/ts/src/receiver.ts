// The receiving side: it delivers each packet once and in the order of its lane, and keeps the acknowledgements that are owed.

/** Held is a packet that waits for an earlier one. */
interface Held { number: number; before: number; data: Delivery; at: number }

/** Delivery is what the endpoint gives and gets back. */
export interface Delivery { number: number; packet: unknown }

/** Fate is what became of a packet. */
export type Fate = "ready" | "held" | "repeat" | "old" | "far" | "refused" | "violation" | "skipped"

/** filterSpan: "The receiver remembers the last 8,192 numbers". */
export const filterSpan = 8192
const maxHeld = 4096, maxAckRanges = 256
/** repeatWait is how long the ack of a repeated packet may wait for a datagram that leaves anyway. */
const repeatWait = 16

/** Filter remembers which of the last 8,192 numbers were received. Those below the first count as received. */
class Filter {
  next: number
  private readonly bits = new Uint8Array(filterSpan).fill(1)

  constructor(first: number) { this.next = first }

  check(n: number): "fresh" | "repeat" | "old" | "far" {
    if (n >= this.next) return n - this.next >= filterSpan ? "far" : "fresh"
    if (this.next - n > filterSpan) return "old"
    return this.bits[n % filterSpan] ? "repeat" : "fresh"
  }

  mark(n: number): void {
    for (; this.next <= n; this.next++) this.bits[this.next % filterSpan] = 0
    this.bits[n % filterSpan] = 1
  }
}

/** Receiver is the receiving side of a connection. */
export class Receiver {
  bundles = false
  skipped = 0
  private readonly seen: Filter
  private readonly lanes = [
    { last: -1, upto: 0, held: [] as Held[] },
    { last: -1, upto: 0, held: [] as Held[] },
  ]
  private readonly acks: { first: number; count: number }[] = []
  private due = Infinity
  private readonly linked: boolean
  private readonly deliver: (d: Delivery) => void

  /** linked: ordered packets name the one before them. Otherwise they wait behind holes, for a time: the peer is not one of ours. */
  constructor(first: number, linked: boolean, deliver: (d: Delivery) => void) {
    this.seen = new Filter(first)
    this.linked = linked
    this.deliver = deliver
    for (const l of this.lanes) l.upto = first
  }

  /** receive judges a packet. lane is 0 for one that is not ordered, and back its order link. */
  receive(now: number, d: Delivery, reliable: boolean, lane: number, back: number, rtt: number): Fate {
    const n = d.number, known = this.seen.check(n)
    if (known !== "fresh") {
      if (known === "repeat" && reliable) this.owe(now + (this.bundles ? repeatWait : 0), n)
      return known
    }
    const fate = lane > 0 ? this.judge(lane, n, back) : "ready"
    if (fate === "violation" || fate !== "skipped" && this.linkedTo(n, lane)) return "violation"
    if (fate === "held" && this.lanes[0].held.length + this.lanes[1].held.length >= maxHeld) return "refused"
    this.seen.mark(n)
    if (reliable) this.owe(now, n)
    if (fate === "ready") this.pass(lane, d)
    if (fate === "held") {
      const held = this.lanes[lane - 1].held
      let i = held.length
      while (i > 0 && held[i - 1].number > n) i--
      held.splice(i, 0, { number: n, before: n - back, data: d, at: now })
    }
    //#servers of others
    if (fate === "skipped") this.skipped++
    //#end
    this.release(now, rtt)
    return fate
  }

  /** fresh takes the number of a packet that its dialect handles itself. */
  fresh(now: number, n: number, reliable: boolean): boolean {
    const known = this.seen.check(n)
    if (known === "repeat" && reliable) this.owe(now + (this.bundles ? repeatWait : 0), n)
    if (known !== "fresh" || this.linkedTo(n, 0)) return false
    this.seen.mark(n)
    if (reliable) this.owe(now, n)
    return true
  }

  private judge(lane: number, n: number, back: number): Fate {
    const l = this.lanes[lane - 1], before = n - back
    //#servers of others, which no browser reaches: a WebSocket and WebTransport are ours
    if (!this.linked) {
      if (n < l.upto) return "skipped"
      return this.advance(l) === n ? "ready" : "held"
    }
    //#end
    if (back > n) return "violation"
    if (back === 0) {
      // All earlier ones are acknowledged, so none can be missing or waiting.
      return n < l.last || l.held.length > 0 && l.held[0].number < n ? "violation" : "ready"
    }
    if (l.last >= 0 && before === l.last) return "ready"
    if (before < l.last) return "violation"
    // "A link to a received packet that is not of that order is a protocol error."
    return this.seen.check(before) === "repeat" && !l.held.some((h) => h.number === before) ? "violation" : "held"
  }

  private linkedTo(n: number, lane: number): boolean {
    return this.linked && this.lanes.some((l, i) => i + 1 !== lane && l.held.some((h) => h.before === n))
  }

  //#servers of others
  /** advance moves the mark of a lane of another's peer over what was received, or cannot come any more. */
  private advance(l: { upto: number; held: Held[] }): number {
    l.upto = Math.max(l.upto, this.seen.next - filterSpan)
    while (l.upto < this.seen.next && this.seen.check(l.upto) === "repeat" && l.held[0]?.number !== l.upto) l.upto++
    return l.upto
  }
  //#end

  private pass(lane: number, d: Delivery): void {
    if (lane > 0) {
      const l = this.lanes[lane - 1]
      l.last = d.number
      l.upto = Math.max(l.upto, d.number + 1)
    }
    this.deliver(d)
  }

  /** release delivers what has waited long enough. "holds an ordered packet behind a hole for at most 4 round trips (at least 200 ms)". */
  release(now: number, rtt: number): void {
    this.lanes.forEach((l, i) => {
      for (let h = l.held[0]; h; h = l.held[0]) {
        let due = h.before === l.last
        //#servers of others
        if (!this.linked) due = this.advance(l) === h.number || now >= h.at + Math.max(4 * rtt, 200)
        //#end
        if (!due) return
        l.held.shift()
        this.pass(i + 1, h.data)
      }
    })
  }

  private owe(at: number, n: number): void {
    this.due = Math.min(this.due, at)
    const last = this.acks.at(-1)
    if (last && n === last.first + last.count) last.count++
    else if (last && n === last.first - 1) {
      last.first = n
      last.count++
    } else {
      if (this.acks.length === maxAckRanges) this.acks.shift() // an unacknowledged packet comes again
      this.acks.push({ first: n, count: 1 })
    }
  }

  /** ackRun takes up to most acknowledgements that are due, or that ride along, of numbers that follow each other. */
  ackRun(now: number, most: number, ride: boolean): { first: number; count: number } | null {
    const a = this.acks[0]
    if (!a || !ride && now < this.due) return null
    const run = { first: a.first, count: Math.min(a.count, most) }
    a.first += run.count
    a.count -= run.count
    if (a.count === 0) this.acks.shift()
    if (this.acks.length === 0) this.due = Infinity
    return run
  }

  nextTimeout(rtt: number): number {
    let next = this.due
    //#servers of others
    if (!this.linked) for (const l of this.lanes) if (l.held[0]) next = Math.min(next, l.held[0].at + Math.max(4 * rtt, 200))
    //#end
    return next
  }
}
