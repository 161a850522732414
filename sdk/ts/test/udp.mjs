// Ways to a server for tests: UDP in place of a browser's carriers, and an impairment of messages over any of them.
import dgram from "node:dgram"

/** openUDP opens a socket to replica's own port. */
export function openUDP(host, port) {
  return new Promise((resolve, reject) => {
    const socket = dgram.createSocket("udp4")
    const t = {
      name: "udp", lossy: true, maxPacket: 1200, onmessage() {}, onclose() {},
      send(b) { try { socket.send(b, () => {}) } catch { /* it is closed */ } },
      close() { try { socket.close() } catch { /* it is closed */ } },
    }
    socket.on("message", (b) => t.onmessage(new Uint8Array(b.buffer.slice(b.byteOffset, b.byteOffset + b.length))))
    socket.on("error", () => {})
    socket.once("error", reject)
    socket.connect(port, host, () => resolve(t))
  })
}

/** random returns a source of numbers from 0 to 1, the same for the same seed. */
export function random(seed) {
  let s = seed >>> 0
  return () => {
    s = (s + 0x6d2b79f5) >>> 0
    let x = Math.imul(s ^ (s >>> 15), 1 | s)
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x
    return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * impaired makes a transport lose, delay and reorder messages, both ways. Over a stream, which loses nothing and keeps the order, what would be
 * lost is late instead, and all that follows waits behind it.
 */
export function impaired(inner, { seed, loss = .05, delay = 40, jitter = 15, reorder = .05, count = {} }) {
  const rnd = random(seed), pending = new Set(), now = () => performance.now()
  const way = () => {
    const line = []
    let last = 0
    return (deliver) => {
      const lost = rnd() < loss
      if (lost && inner.lossy) { count.lost = (count.lost ?? 0) + 1; return }
      let wait = delay + rnd() * jitter + (rnd() < reorder ? 2 * jitter : 0)
      if (!inner.lossy) {
        if (lost) wait += 4 * delay
        last = Math.max(last, now() + wait)
        wait = last - now()
      }
      if (!inner.lossy) line.push(deliver)
      const timer = setTimeout(() => { pending.delete(timer); (inner.lossy ? deliver : line.shift())() }, wait)
      pending.add(timer)
      count.passed = (count.passed ?? 0) + 1
    }
  }
  const out = way(), back = way()
  const t = {
    name: inner.name, lossy: inner.lossy, maxPacket: inner.maxPacket, onmessage() {}, onclose() {},
    send(b) { const c = b.slice(); out(() => inner.send(c)) },
    close() { setTimeout(() => { for (const timer of pending) clearTimeout(timer); inner.close() }, 2 * delay) },
    cut() { t.send = () => {}; inner.onmessage = () => {}; setTimeout(() => { inner.close(); t.onclose() }, 10) },
  }
  inner.onmessage = (b) => back(() => t.onmessage(b))
  inner.onclose = () => t.onclose()
  return t
}
