// Leaves out of the built library what only its tests and its makers read: the names of fields in the errors of packets. A page that gets such a
// packet counts it, and shows no text of it.
import { readFile } from "node:fs/promises"

/** compact is a plugin of esbuild. */
export const compact = {
  name: "compact",
  setup(build) {
    build.onLoad({ filter: /src\/\w+\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8")
      return {
        loader: "ts",
        contents: text
          .replace(/\br\.((?:u|i|f)(?:8|16|32|64))\("[^"]*"\)/g, "r.$1(0 as any)")
          .replace(/\br\.(name)\("[^"]*"\)/g, "r.$1(0 as any)")
          .replace(/\br\.(bytes|many)\("[^"]*", /g, "r.$1(0 as any, ")
          .replace(/\br\.fail\("[^"]*", (?:"[^"]*"|`[^`]*`)\)/g, "r.fail(0 as any, 0 as any)")
          .replace(/this\.fail\(field, (?:"[^"]*"|`[^`]*`)\)/g, "this.fail(0 as any, 0 as any)")
          .replace(/\bonly\(r, from, ("\w+"), "[^"]*"\)/g, "only(r, from, $1, 0 as any)")
          .replace("fail(field: string, what: string): never { throw new Malformed(`${field} at ${this.at}: ${what}`) }", "fail(_f: any, _w: any): never { throw new Malformed() }"),
      }
    })
  },
}
