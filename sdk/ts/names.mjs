// Which names of properties stay as they are when the library is made small: those that somebody else knows.

/** reserved returns the names that the language, browsers, servers and pages know. types are the public declarations. */
export function reserved(types) {
  const names = new Set(types.match(/\w+/g))
  const note = (o) => { for (const name of Object.getOwnPropertyNames(o)) names.add(name) }
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    names.add(name)
    let value
    try { value = globalThis[name] } catch { continue }
    if (typeof value !== "function" && (typeof value !== "object" || !value)) continue
    note(value)
    if (value.prototype) note(value.prototype)
  }
  for (const o of [function* () {}.prototype, [][Symbol.iterator](), new Map().values()]) for (let p = o; p; p = Object.getPrototypeOf(p)) note(p)
  // Of browsers, which Node does not have.
  for (const name of ("location href hostname port WebTransport serverCertificateHashes algorithm value congestionControl ready closed datagrams readable writable createWritable " +
    "outgoingHighWaterMark getReader getWriter desiredSize read write done close catch then binaryType bufferedAmount readyState onopen onmessage onclose data send " +
    "method headers body signal ok status json error fatal ignoreBOM source").split(" ")) names.add(name)
  return new RegExp(`^(${[...names].filter((n) => /^\w+$/.test(n)).join("|")})$`)
}
