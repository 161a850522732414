// A client's reading of its server's clock, from exchanges of four times as in NTP. "the client's offset is that of the sample with the
// least round trip in the last 8, slewed, never stepped backwards".

const window = 8, maxTrip = 10e6

/** ServerClock reads the server's clock. Local times are ms, the server's µs since base. */
export class ServerClock {
  base = 0n
  synced = false
  private readonly samples: { sent: number; offset: number; trip: number }[] = []
  private anchor = 0
  private offset = 0
  private left = 0

  /** add takes an exchange: when the question left and the answer came, and the server's two times between. */
  add(sent: number, theirs1: bigint, theirs2: bigint, received: number): boolean {
    if (!this.synced) this.base = theirs1
    const s = sent * 1000, r = received * 1000, one = this.relative(theirs1), two = this.relative(theirs2)
    const held = two - one, trip = r - s - held, last = this.samples.at(-1)
    if (r < s || held < 0 || r - s > 2 * maxTrip || held > maxTrip || trip > maxTrip || trip < -(held * .051 + 2)) return false
    if (last && s <= last.sent) return false
    this.samples.push({ sent: s, offset: (one - s + two - r) / 2, trip: Math.max(trip, 0) })
    if (this.samples.length > window) this.samples.shift()
    this.aim(r, this.best.offset)
    return true
  }

  private get best() { return this.samples.reduce((a, b) => (b.trip <= a.trip ? b : a)) }

  /** rtt is the least round trip of late, in ms. */
  get rtt(): number { return this.samples.length === 0 ? 0 : this.best.trip / 1000 }

  private aim(at: number, target: number): void {
    if (!this.synced) {
      this.synced = true
      this.anchor = at
      this.offset = target
      return
    }
    at = Math.max(at, this.anchor)
    this.offset = this.offsetAt(at)
    this.anchor = at
    this.left = target - this.offset
  }

  private offsetAt(at: number): number {
    const limit = Math.max(at - this.anchor, 0) / 20
    return this.offset + Math.min(Math.max(this.left, -limit), limit)
  }

  /** remote returns the server's time now. */
  remote(now: number): bigint {
    const at = now * 1000
    return BigInt.asUintN(64, this.base + BigInt(Math.floor(at + this.offsetAt(at))))
  }

  /** relative returns a time of the server's as µs since base. */
  relative(t: bigint): number { return Number(BigInt.asIntN(64, t - this.base)) }

  /** near reports whether a time is within 10 s of the connection's clock. */
  near(now: number, t: bigint): boolean {
    const off = BigInt.asIntN(64, t - this.remote(now))
    return off <= 10_000_000n && off >= -10_000_000n
  }
}
