// What brings datagrams to the server and back: WebTransport, a WebSocket, or whatever a test puts in their place.

/** Transport carries datagrams. */
export interface Transport {
  readonly name: string
  /** It may lose datagrams, so that copies ahead of loss are of use. */
  readonly lossy: boolean
  /** The greatest datagram. */
  readonly maxPacket: number
  onmessage: (b: Uint8Array) => void
  onclose: () => void
  send(b: Uint8Array<ArrayBuffer>): void
  close(): void
}

/** maxWaiting is how much may wait for a slow socket. More is dropped, and the dialect sends again what is reliable. */
const maxWaiting = 256 << 10

/** openWebSocket opens a WebSocket: a message is a datagram. */
export function openWebSocket(url: string, patience: number): Promise<Transport> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(url)
    ws.binaryType = "arraybuffer"
    const t: Transport = {
      name: "ws", lossy: false, maxPacket: 1200, onmessage() {}, onclose() {},
      send(b) { if (ws.readyState === 1 && ws.bufferedAmount <= maxWaiting) ws.send(b) },
      close() { ws.close() },
    }
    const late = setTimeout(() => ws.close(), patience)
    ws.onopen = () => {
      clearTimeout(late)
      resolve(t)
    }
    ws.onmessage = (ev) => { if (ev.data instanceof ArrayBuffer) t.onmessage(new Uint8Array(ev.data)) }
    ws.onclose = () => {
      clearTimeout(late)
      reject(new Error(url))
      t.onclose()
    }
  })
}

/** openWebTransport opens a session of WebTransport, whose datagrams are the dialect's. hashes are those of the server's certificates. */
export async function openWebTransport(url: string, hashes: string[], patience: number): Promise<Transport> {
  const Session = (globalThis as any).WebTransport
  if (!Session) throw new Error("no WebTransport")
  const options = hashes.length > 0 ? { serverCertificateHashes: hashes.map((h) => ({ algorithm: "sha-256", value: bytesOf(h) })) } : {}
  const wt = new Session(url, { ...options, congestionControl: "low-latency" })
  const t: Transport = {
    name: "wt", lossy: true, maxPacket: 1100, onmessage() {}, onclose() {},
    send(b) { if (writer.desiredSize > 0) writer.write(b).catch(() => {}) },
    close() { try { wt.close() } catch { /* it is closed */ } },
  }
  let late = 0 as any
  wt.closed.catch(() => {}).then(() => t.onclose())
  try {
    await Promise.race([wt.ready, new Promise((_, reject) => { late = setTimeout(() => reject(new Error(url)), patience) })])
  } catch (e) {
    t.close()
    throw e
  } finally {
    clearTimeout(late)
  }
  const { datagrams } = wt
  // Chromium keeps one datagram that nobody has read yet, and loses the others of a burst.
  datagrams.incomingHighWaterMark = datagrams.outgoingHighWaterMark = 64
  const writer = (datagrams.createWritable ? datagrams.createWritable() : datagrams.writable).getWriter()
  const reader = datagrams.readable.getReader()
  void (async () => {
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) t.onmessage(next.value)
    } catch { /* the session has ended */ }
    t.onclose()
  })()
  return t
}

/** bytesOf reads what is written in hex. */
export function bytesOf(hash: string): Uint8Array { return Uint8Array.from(hash.match(/../g)!, (h) => parseInt(h, 16)) }
