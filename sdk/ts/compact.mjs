// Leaves out of the built library what only its tests and its makers read: the names of fields in the errors of packets. A page that gets such a
// packet counts it, and shows no text of it.
import { readFile } from "node:fs/promises"

// Words that only the library itself knows.
const words = [
  "connect.init", "connect.accept", "connect.reject", "disconnect", "sync.init", "sync.ack", "ack.run", "link.init", "link.table", "link.accept", "link.reject",
  "replicate", "bundle", "ready", "held", "repeat", "violation", "skipped", "fresh", "queued", "flying", "accepted", "closing", "ordered", "unreliable",
  "reliable", "replicated", "connected", "acked", "silent", "linked", "gone", "bundles", "old", "far", "client", "server", "ack", "message", "open",
]

/** privates gives the private members of each class short names of their own. Those of one class are the same as those of another, which packs well. */
function privates(text) {
  return text.replace(/^(?:export )?class \w+[^{]*\{[^]*?^\}/gm, (body) => {
    const found = [...body.matchAll(/^  private (?:readonly |async |get |set )*(\w+)/gm)].map((m) => m[1])
    const uses = (name) => body.split(new RegExp(`\\bthis\\.${name}\\b`)).length
    const names = [...new Set(found)].sort((a, b) => uses(b) - uses(a))
    names.forEach((name, i) => {
      body = body.replace(new RegExp(`\\bthis\\.${name}\\b`, "g"), `this._${i}`).replace(new RegExp(`^(  private (?:readonly |async |get |set )*)${name}\\b`, "gm"), `$1_${i}`)
    })
    return body
  })
}

/** compact is a plugin of esbuild. */
export const compact = {
  name: "compact",
  setup(build) {
    build.onLoad({ filter: /src\/\w+\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8")
      return {
        loader: "ts",
        contents: privates(text)
          .replace(/\/\/#servers[^]*?\/\/#end/g, "") // what only a server reads
          .replace(/\br\.((?:u|i|f)(?:8|16|32|64))\((?:"[^"]*"|f\.name)\)/g, "r.$1(0)")
          .replace(/\br\.(name)\("[^"]*"\)/g, "r.$1(0)")
          .replace(/\br\.many\("[^"]*", (r\.u\d+\(0\)|\w+), \d\)/g, "$1") // what does not fit is found when it is read
          .replace(/\br\.bytes\((?:"[^"]*"|f\.name), /g, "r.bytes(0, ")
          .replace(/^  many\([^]*?^  }\n/m, "")
          .replace(/\br\.fail\((?:"[^"]*"|f\.name), (?:"[^"]*"|`[^`]*`)\)/g, "r.fail(0, 0)")
          .replace(/this\.fail\((?:field|"end"), (?:"[^"]*"|`[^`]*`)\)/g, "this.fail(0, 0)").replace('this.u8(field + " size")', "this.u8(0)").replace('this.bytes("rest", ', "this.bytes(0, ")
          .replace(/\bonly\(r, from, ("\w+"), "[^"]*"\)/g, "only(r, from, $1, 0)")
          .replace(new RegExp(`"(${words.join("|").replaceAll(".", "\\.")})"`, "g"), (_, word) => `"${words.indexOf(word).toString(36)}"`)
          .replace("fail(field: string, what: string): never { throw new Malformed(`${field} at ${this.at}: ${what}`) }", "fail(_f: any, _w: any): never { throw new Malformed() }"),
      }
    })
  },
}
