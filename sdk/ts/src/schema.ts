// What a game is made of, as the server describes it: kinds with typed fields, actions with parameters. And their values on the wire.

import { Reader, Writer, decode, encode } from "./wire.ts"

/** Quantum says how a float travels: as a whole number of steps. */
export interface Quantum { step: number; low: number; high: number; around?: boolean }
/** Field is a field of a kind, or a parameter of an action. */
export interface Field { name: string; path: (string | number)[]; type: string; wire: string; max_bytes?: number; quantum?: Quantum }
/** Kind is a kind of entity. Those with a body have x, y, angle, norm and sprite as their first fields. */
export interface Kind { name: string; body: boolean; max_speed?: number; fields: Field[] }
/** Action is something that a player can do. */
export interface Action { name: string; fields: Field[] }
/** Outline is the hitbox of a sprite: a circle, a rectangle, or nothing. */
export interface Outline { radius?: number; width?: number; height?: number }
/** Schema describes a game: the `schema` of /play/server. */
export interface Schema {
  game: string; fingerprint: string; kinds: Kind[]; actions: Action[]
  /** The values of cells that stop bodies, and the outlines of sprites by number. */
  solid?: number[]; hitboxes?: Outline[]
}

/** Value is the value of a field. 64-bit integers are bigints, entities are numbers of entities. */
export type Value = number | bigint | boolean | string

/** X, Y, ANGLE, NORM are the places of a body's fields. */
export const X = 0, Y = 1, ANGLE = 2, NORM = 3, SPRITE = 4

/** zero returns the value of a field that was never told. */
export function zero(f: Field): Value {
  return f.type === "string" ? "" : f.type === "bool" ? false : f.type === "u64" || f.type === "i64" ? 0n : 0
}

/** steps returns the number of steps that is nearest to a float and in the range. */
export function steps(q: Quantum, v: number): number {
  let n = Math.floor(v / q.step + .5)
  if (!Number.isFinite(n)) n = Number.isNaN(n) || q.around ? 0 : n
  if (q.around) {
    const turns = q.high - q.low + 1
    n = (n - q.low) % turns
    return (n < 0 ? n + turns : n) + q.low
  }
  return Math.max(q.low, Math.min(n, q.high))
}

/** float returns a number of steps as the field has it. */
export function float(f: Field, n: number): number {
  const v = n * f.quantum!.step
  return f.type === "f32" ? Math.fround(v) : v
}

/** rounded returns a float as the world holds it. */
export function rounded(f: Field, v: number): number {
  return f.quantum ? float(f, steps(f.quantum, v)) : f.type === "f32" ? Math.fround(v) : v
}

/** readField reads a value. whole says that all bytes are one text, as in a variable of replica. */
export function readField(r: Reader, f: Field, whole = false): Value {
  let v: Value
  switch (f.wire) {
    case "bool": {
      const b = r.u8(f.name)
      if (b > 1) r.fail(f.name, "neither 0 nor 1")
      return b === 1
    }
    case "u8": v = r.u8(f.name); break
    case "u16": case "entity": v = r.u16(f.name); break
    case "u32": v = r.u32(f.name); break
    case "u64": return r.u64(f.name)
    case "i8": v = r.i8(f.name); break
    case "i16": v = r.i16(f.name); break
    case "i32": v = r.i32(f.name); break
    case "i64": return r.i64(f.name)
    case "f32": v = r.f32(f.name); break
    case "f64": v = r.f64(f.name); break
    case "string": {
      const b = whole ? r.rest() : r.bytes(f.name, r.u8(f.name))
      return decode(b.subarray(0, f.max_bytes ?? 255))
    }
    default: return r.fail(f.name, `type ${f.wire}`)
  }
  if (!Number.isFinite(v)) r.fail(f.name, "is not finite")
  if (!f.quantum) return v
  if (v < f.quantum.low || v > f.quantum.high) r.fail(f.name, "is out of range")
  return float(f, v)
}

/** writeField writes a value, or throws a RangeError that says what does not fit. */
export function writeField(w: Writer, f: Field, v: unknown): void {
  const wrong = (): never => { throw new RangeError(`parley: ${f.name} is ${String(v)}: it must be a ${f.type}`) }
  v ??= zero(f)
  if (f.wire === "string") {
    const b = encode(typeof v === "string" ? v : wrong())
    if (b.length > (f.max_bytes ?? 255)) throw new RangeError(`parley: ${f.name} has ${b.length} bytes: too many`)
    w.u8(b.length).bytes(b)
    return
  }
  if (typeof v === "boolean") v = +v
  if (typeof v !== "number" && typeof v !== "bigint") return wrong()
  if (f.wire === "u64" || f.wire === "i64") {
    w.u64(BigInt.asUintN(64, typeof v === "bigint" ? v : BigInt(Math.trunc(v))))
    return
  }
  let n = Number(v)
  if (!Number.isFinite(n)) wrong()
  if (f.quantum) n = steps(f.quantum, n)
  switch (f.wire) {
    case "f32": w.f32(n); return
    case "f64": w.f64(n); return
  }
  const bits = f.wire === "bool" ? 1 : f.wire === "entity" ? 16 : +f.wire.slice(1), low = f.wire[0] === "i" ? -(2 ** (bits - 1)) : 0
  if (!Number.isInteger(n) || n < low || n >= low + 2 ** bits) wrong()
  if (bits <= 8) w.u8(n & 0xff)
  else if (bits === 16) w.u16(n & 0xffff)
  else w.u32(n >>> 0)
}

/** get returns a value of an object by the way to it. */
export function get(o: any, path: (string | number)[]): unknown {
  for (const part of path) o = o?.[part]
  return o
}

/** set puts a value into an object, and makes the arrays and objects on the way. */
export function set(o: any, path: (string | number)[], v: unknown): void {
  const last = path.length - 1
  for (let i = 0; i < last; i++) o = o[path[i]] ??= typeof path[i + 1] === "number" ? [] : {}
  o[path[last]] = v
}
