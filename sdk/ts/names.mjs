// Which names of properties stay as they are when the library is made small: those that somebody else knows.

/** reserved returns the names that the language, browsers, servers and pages know. types are the public declarations. */
export function reserved(types) {
  const names = new Set(types.replace(/\/\*[^]*?\*\//g, "").match(/\w+/g))
  const note = (o) => { for (const name of Object.getOwnPropertyNames(o)) names.add(name) }
  // What the library uses of the language and of both browsers and Node.
  const used = [
    Array, ArrayBuffer, BigInt, Boolean, DataView, Error, Function, JSON, Map, Math, Number, Object, Promise, RangeError, RegExp, Set, String, Symbol, TypeError, Uint8Array,
    Object.getPrototypeOf(Uint8Array), AbortSignal, TextDecoder, TextEncoder, URL, performance, globalThis.WebSocket,
  ]
  for (const o of used) {
    note(o)
    if (o.prototype) note(o.prototype)
  }
  for (const o of [function* () {}.prototype, [][Symbol.iterator](), new Map().values()]) for (let p = o; p; p = Object.getPrototypeOf(p)) note(p)
  // Of browsers, which Node does not have.
  for (const name of ("location href hostname port WebTransport serverCertificateHashes algorithm value congestionControl ready closed datagrams readable writable createWritable " +
    "incomingHighWaterMark outgoingHighWaterMark getReader getWriter desiredSize read write done close catch then binaryType bufferedAmount readyState onopen onmessage onclose data send " +
    "Array fetch performance WebSocket AbortSignal setTimeout clearTimeout now timeout globalThis method headers body signal ok status json error fatal ignoreBOM source").split(" ")) names.add(name)
  return new RegExp(`^(${[...names].filter((n) => /^\w+$/.test(n)).join("|")})$`)
}
