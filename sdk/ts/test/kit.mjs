// What the tests share.
import { appendFileSync } from "node:fs"

/** tally notes a count for the gate's table: T number, part, count, test. */
export function tally(promise, part, count, name) {
  if (process.env.PARLEY_TALLY) appendFileSync(process.env.PARLEY_TALLY, `${promise}\t${part}\t${count}\t${name}\n`)
}

/** full is set in the gate, which runs the whole counts. */
export const full = !!process.env.PARLEY_PR
