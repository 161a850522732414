// The built library is small: a page that is opened on a phone has it at once.
import test from "node:test"
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"

test("the library has at most 20 KB", () => {
  const n = gzipSync(readFileSync(new URL("../../../web/play/parley.js", import.meta.url)), { level: 9 }).length
  assert.ok(n <= 20_480, `${n} bytes`)
})
