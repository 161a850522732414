// The two clocks of a picture: at which past tick the others are drawn, and how far ahead the own tick is. They are those of the Go
// client (play/picture: clock.go, lead.go, spread.go), and test/picture.test.mjs holds them against it. Times are ms.

const spreadSize = 200, spreadSpan = 10, leastSpan = 16
const gap = 1, leastGap = 4

const clamp = (low: number, v: number, high: number) => Math.max(low, Math.min(v, high))

/** Spread is what was measured in the last seconds. Numbers that come in quick succession are one, the greatest of them. */
class Spread {
  list: { at: number; value: number }[] = []
  private readonly span: number
  private readonly slot: number

  constructor(period: number) {
    this.span = Math.max(spreadSpan, leastSpan * period)
    const slot = this.span / spreadSize
    this.slot = 2 * period < slot ? slot : 0
  }

  get n(): number { return this.list.length }

  expire(at: number): void {
    let i = 0
    while (i < this.list.length && at - this.list[i].at > this.span) i++
    if (i > 0) this.list.splice(0, i)
  }

  shift(by: number): void { for (const m of this.list) m.value += by }

  /** add takes a number. It reports whether it is one of its own. */
  add(at: number, value: number): boolean {
    this.expire(at)
    const last = this.list.at(-1)
    if (last && at - last.at < this.slot) {
      last.value = Math.max(last.value, value)
      return false
    }
    if (this.list.length === spreadSize) this.list.shift()
    this.list.push({ at, value })
    return true
  }

  keep(n: number): void { if (this.list.length > n) this.list.splice(0, this.list.length - n) }

  /** greatest returns the two greatest of the newest n. */
  greatest(n: number): [number, number] {
    const newest = this.list.slice(-n).map((m) => m.value).reverse()
    let first = newest[0], second = newest[0]
    for (let i = 1; i < newest.length; i++) {
      const v = newest[i]
      if (v > first) [first, second] = [v, first]
      else if (v > second || i === 1) second = v
    }
    return [first, second]
  }

  sorted(): number[] { return this.list.map((m) => m.value).sort((a, b) => a - b) }

  /** follow forgets what is no longer so, when the newest numbers are quite others than those before. */
  follow(): void {
    if (this.n < 8) return
    const list = this.sorted(), middle = quantile(list, .5), low = quantile(list, .1)
    if (this.greatest(8)[0] < middle - 1) {
      this.keep(8)
      return
    }
    let later = 0
    for (const m of this.list.slice(-4)) if (m.value > middle + Math.max(1, 3 * (middle - low))) later++
    if (later >= 3) this.keep(4)
  }
}

const quantile = (list: number[], part: number) => list[Math.min(Math.trunc(part * list.length), list.length - 1)]

/** hurry returns by how much a clock that is some ticks behind runs faster, or slower if it is ahead. */
function hurry(behind: number, limit: number): number {
  const most = Math.min(.5, limit + .1 * Math.max(0, Math.abs(behind) - 1))
  return clamp(-most, .3 * behind, most)
}

/** Clock says at which past tick others are drawn: as far behind those that arrive as their jitter and loss ask for. */
export class Clock {
  private readonly period: number
  private begun = false
  private epoch = 0
  private first = 0
  private newest = 0
  private seen: boolean[] = new Array(64).fill(true) // which of the newest ticks were heard, the newest first
  /** loss is the share of the last hundred or so ticks that have not come. */
  loss = 0
  private readonly late: Spread
  private grown = 0
  private time = 0
  private drawn = 0

  constructor(rate: number) {
    this.period = 1 / Math.max(1, rate)
    this.late = new Spread(this.period)
  }

  /** heard says that a tick has arrived with all that it tells. */
  heard(now: number, tick: number): void {
    if (!this.begun) {
      this.begun = true
      this.epoch = now
      this.first = tick
      this.drawn = -this.depth
      this.late.add(0, 0)
      return
    }
    this.advance(now)
    const n = tick - this.first
    if (!this.note(n)) return
    const late = this.time - n * this.period
    if (!this.late.add(this.time, late) && late <= this.grown) return
    this.grown = quantile(this.late.sorted(), .95)
    const [, second] = this.late.greatest(8)
    if (second > this.grown) this.grown = second
    else if (this.late.n > 16) {
      const [most] = this.late.greatest(16)
      if (this.grown - most > this.gap) { // ticks were left out
        this.late.keep(16)
        this.grown = most
      }
    }
  }

  private note(n: number): boolean {
    const ahead = n - this.newest
    if (ahead > 0) {
      for (let i = Math.min(ahead, 64); i > 0; i--) {
        // What is so old and not there will not come.
        this.loss += ((this.seen[15] ? 0 : 1) - this.loss) / 128
        this.seen.unshift(false)
        this.seen.pop()
      }
      this.newest = n
      this.seen[0] = true
      return true
    }
    if (ahead > -64 && !this.seen[-ahead]) {
      this.seen[-ahead] = true
      return true
    }
    return false
  }

  /** depth is how many ticks it is behind those that come as late as most do. */
  private get depth(): number { return 1.35 + Math.min(.4, 50 * this.loss) }
  private get gap(): number { return Math.max(gap, leastGap * this.period) }

  /** at returns the tick that is drawn now, with its part; undefined until two ticks can be drawn. */
  at(now: number): number | undefined {
    if (!this.begun) return undefined
    this.advance(now)
    return this.drawn >= 0 ? this.first + this.drawn : undefined
  }

  private advance(now: number): void {
    const to = (now - this.epoch) / 1000
    if (to <= this.time) return
    if ((this.aim(to) - this.drawn) * this.period > this.gap) {
      this.drawn = Math.max(this.drawn, Math.min(this.aim(to), this.newest - .5))
    } else {
      const steps = Math.min(Math.trunc((to - this.time) / this.period * 2) + 1, 64), part = (to - this.time) / steps
      for (let i = 0; i < steps; i++) this.run(this.time + i * part, part / this.period)
    }
    this.time = to
  }

  private aim(at: number): number { return (at - this.grown) / this.period - this.depth }

  /** run lets a part of a tick pass. The less there is left to be drawn, the slower it runs. */
  private run(at: number, ticks: number): void {
    const speed = 1 + hurry(this.aim(at) - this.drawn, .2), low = .7 * (this.depth - 1)
    let left = this.newest - this.drawn
    const fast = Math.min(ticks * speed, left - low)
    if (fast > 0) {
      this.drawn += fast
      ticks -= fast / speed
      left -= fast
    }
    if (ticks > 0 && left <= low) this.drawn = this.newest - left * Math.exp(-ticks / low)
  }
}

const sentTicks = 256

/** Lead is the own tick of a client that predicts: ahead of the server by as little as gets its inputs there a tick before they are needed. */
export class Lead {
  known = false
  /** trip is the round trip, in seconds, that is assumed while no margin is known. */
  trip = .1
  private readonly period: number
  private begun = false
  private epoch = 0
  private first = 0
  private heardTick = 0
  private heardAt = 0
  private readonly late: Spread
  private readonly sent: { tick: number; number: number; at: number; rough: boolean }[] = []
  private readonly sure: Spread // how far the server was when inputs came, less when they were sent, in ticks
  private readonly rough: Spread // the same of inputs that may have come by a copy
  private base = 0
  private time = 0
  private own = 0
  private locked = false

  constructor(rate: number) {
    this.period = 1 / Math.max(1, rate)
    this.late = new Spread(this.period)
    this.sure = new Spread(this.period)
    this.rough = new Spread(this.period)
  }

  /** heard says that a tick has arrived. */
  heard(now: number, tick: number): void {
    if (!this.begun) {
      this.begun = true
      this.epoch = now
      this.first = tick
      this.late.add(0, 0)
      this.aim()
      this.own = this.base
      return
    }
    this.advance(now)
    const n = tick - this.first
    if (n <= this.heardTick) return
    this.heardTick = n
    this.heardAt = this.time
    const late = this.time - n * this.period, off = late - quantile(this.late.sorted(), .5)
    if (Math.abs(off) > Math.max(gap, leastGap * this.period)) { // the server has stood still, or has left ticks out
      this.late.shift(off)
      this.sure.shift(-off / this.period)
      this.rough.shift(-off / this.period)
      this.base -= off / this.period
    }
    if (this.late.add(this.time, late) && !this.known) this.aim()
  }

  /** sending says that an input with a number is sent for the first time, and for which tick. */
  sending(now: number, tick: number, number: number): void {
    const s = this.sent[tick % sentTicks]
    if (s?.tick === tick) s.rough = true // of several, the first may be lost
    else if (this.begun) this.sent[tick % sentTicks] = { tick, number, at: (now - this.epoch) / 1000 / this.period, rough: false }
  }

  /** again says that the input for a tick is sent again: which of the two comes is not known then. */
  again(tick: number): void {
    const s = this.sent[tick % sentTicks]
    if (s?.tick === tick) s.rough = true
  }

  /** margin takes what the fate of a tick says. */
  margin(now: number, tick: number, done: number, margin: number): void {
    if (!this.begun) return
    this.advance(now)
    const s = this.sent[(tick + margin) % sentTicks]
    if (s?.tick !== tick + margin || margin <= 0 && s.number > done) return
    const trip = tick - this.first - 1 - s.at
    if (s.rough) this.rough.add(this.time, trip)
    else this.sure.add(this.time, trip)
    this.known = true
    this.aim()
  }

  private aim(): void {
    if (!this.known) {
      this.base = this.trip / this.period + 1.5 - quantile(this.late.sorted(), .1) / this.period
      return
    }
    this.sure.expire(this.time)
    this.rough.expire(this.time)
    const s = this.sure.n < 16 && this.rough.n > this.sure.n ? this.rough : this.sure
    if (s.n === 0) return
    s.follow()
    let list = s.sorted()
    const middle = quantile(list, .5), low = quantile(list, .1)
    let copies = 0
    // A copy comes a tick later. As many of them are less than a tick after the middle as are more.
    if (s === this.rough && middle - low < .7) copies = 2 * above(list, middle + 1) / list.length
    list = list.slice(0, list.length - above(list, middle + Math.max(1, 3 * (middle - low)))) // what is later is no jitter
    this.base = 1 + quantile(list, .994 - Math.min(.9 * copies, .2)) + Math.min(.5, .6 / Math.sqrt(list.length)) - .005
  }

  /** at returns the own tick, with its part. */
  at(now: number): number {
    if (!this.begun) return 0
    this.advance(now)
    return this.first + this.own
  }

  private advance(now: number): void {
    const to = (now - this.epoch) / 1000
    if (to <= this.time) return
    const ticks = (to - this.time) / this.period
    this.time = to
    if (to - this.heardAt > Math.max(gap, leastGap * this.period)) return // the server may have stopped, or the way to it
    const behind = to / this.period + this.base - this.own - ticks, enough = this.sure.n + this.rough.n >= 4
    if (!this.locked && behind > 0 || behind * this.period > gap) {
      this.own += ticks + behind
      this.locked ||= enough
      return
    }
    if (!this.locked && behind > -.5) this.locked = enough
    this.own += ticks + Math.max(-Math.abs(behind), Math.min(ticks * hurry(behind, .04), Math.abs(behind)))
  }
}

const above = (list: number[], than: number) => list.length - list.filter((v) => v <= than).length

/** Blend is the error of something that is drawn: it goes on from where it was drawn, and comes to where it is in 100 ms. */
export class Blend {
  private dx = 0
  private dy = 0
  private turn = 0
  private since = -Infinity

  /** add returns false if the error is too great: then it jumps. */
  add(now: number, dx: number, dy: number, turn: number, snap: number): boolean {
    const [x, y, t] = this.at(now)
    dx += x
    dy += y
    turn = remainder(turn + t)
    if (!(dx * dx + dy * dy <= snap * snap) || Number.isNaN(turn)) {
      this.dx = this.dy = this.turn = 0
      return false
    }
    this.dx = dx
    this.dy = dy
    this.turn = turn
    this.since = now
    return true
  }

  at(now: number): [number, number, number] {
    const left = Math.min(1 - (now - this.since) / 100, 1)
    return left > 0 ? [this.dx * left, this.dy * left, this.turn * left] : [0, 0, 0]
  }
}

/** remainder brings an angle to between −π and π. */
export function remainder(a: number): number { return a - 2 * Math.PI * Math.round(a / (2 * Math.PI)) }
