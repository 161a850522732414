// Puts the declarations of all source files into one, which needs no other file.
import { readFileSync } from "node:fs"

/** bundleTypes joins the declarations in a folder, those that others need first. */
export function bundleTypes(folder) {
  const exported = new Set([...readFileSync(new URL("index.d.ts", folder), "utf8").matchAll(/export (?:type )?\{ ([^}]*) \}/g)].flatMap((m) => m[1].split(", ")))
  const parts = ["wire", "schema", "motion", "codec", "clock", "sender", "receiver", "endpoint", "pace", "transport", "connection", "picture", "world"].map((name) => {
    const text = readFileSync(new URL(`${name}.d.ts`, folder), "utf8")
    return text.replace(/^import .*$/gm, "").replace(/^export \{.*$/gm, "")
  })
  // Names that several files have would clash: only what the public ones need is kept, and that is checked by the test of the types.
  return keep(parts.join("\n"), exported)
}

/** keep returns the declarations that the exported ones need, and marks the exported ones. */
function keep(text, exported) {
  const blocks = text.split(/\n(?=(?:\/\*\*(?:[^*]|\*(?!\/))*\*\/\n)?(?:export |declare |interface |type ))/)
  const named = new Map()
  for (const b of blocks) {
    const m = b.match(/^(?:\/\*\*(?:[^*]|\*(?!\/))*\*\/\n)?(?:export )?(?:declare )?(?:class|interface|type|function|const) (\w+)/m)
    if (!m) continue
    named.set(m[1], [...(named.get(m[1]) ?? []), b])
  }
  const wanted = new Set(exported)
  for (const name of wanted) {
    for (const b of named.get(name) ?? []) {
      const code = b.replace(/\/\*\*(?:[^*]|\*(?!\/))*\*\//g, "").replace(/^\s*private .*$/gm, "")
      for (const word of code.match(/\b[A-Z]\w*\b/g) ?? []) if (named.has(word)) wanted.add(word)
    }
  }
  let out = ""
  for (const [name, list] of named) {
    if (!wanted.has(name)) continue
    for (const b of list.slice(-1)) {
      const plain = b.trim().replace(/^(\/\*\*(?:[^*]|\*(?!\/))*\*\/\n)?(?:export )?/, "$1" + (exported.has(name) ? "export " : ""))
      out += plain.replace(/^\s*private .*\n/gm, "") + "\n"
    }
  }
  return out
}
