// Builds dist/parley.js and its types, and copies both to where the server embeds them. With --check it only compares.
import { build } from "esbuild"
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { compact } from "./compact.mjs"
import { minify } from "terser"
import { reserved } from "./names.mjs"
import { bundleTypes } from "./types.mjs"

const limit = 20_480
const at = (path) => new URL(path, import.meta.url)
mkdirSync(at("dist"), { recursive: true })
const banner = "// Built from sdk/ts: do not edit.\n"
execFileSync(process.execPath, [at("node_modules/typescript/bin/tsc").pathname, "-p", at(".").pathname, "--noEmit", "false", "--declaration", "--emitDeclarationOnly", "--outDir", at("dist/types").pathname], { stdio: "inherit" })
const types = banner + bundleTypes(at("dist/types/"))
const { outputFiles } = await build({
  entryPoints: [at("src/index.ts").pathname], bundle: true, minify: true, format: "esm", target: "es2022", write: false, legalComments: "none", charset: "utf8",
  plugins: [compact], mangleProps: /./, reserveProps: reserved(types),
})
// Terser finds some more in what esbuild has made, and again in what it has made itself.
let small = outputFiles[0].text
for (let i = 0; i < 2; i++) small = (await minify(small, { module: true, ecma: 2022, compress: { passes: 3, keep_fargs: false, pure_getters: true, unsafe: true, unsafe_arrows: true, unsafe_comps: true, sequences: false, lhs_constants: false }, mangle: true })).code
const code = banner + small + "\n"
writeFileSync(at("dist/parley.js"), code)
writeFileSync(at("dist/parley.d.ts"), types)
const size = gzipSync(code, { level: 9 }).length
console.log(`parley.js: ${code.length} bytes, ${size} gzipped; the limit is ${limit}`)
if (size > limit) process.exitCode = 1
for (const [name, text] of [["parley.js", code], ["parley.d.ts", types]]) {
  const to = at(`../../web/play/${name}`)
  if (process.argv.includes("--check")) {
    let old = ""
    try { old = readFileSync(to, "utf8") } catch { /* it is not there */ }
    if (old !== text) {
      console.error(`web/play/${name} is not what sdk/ts builds to: run "npm run build" in sdk/ts, and commit it`)
      process.exitCode = 1
    }
    continue
  }
  mkdirSync(at("../../web/play/"), { recursive: true })
  writeFileSync(to, text)
}
