// The byte cursors: a Reader that names the field which does not fit, and a Writer.

/** Malformed is the error of bytes that are no packet. It names the field and its offset. */
export class Malformed extends Error {}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const lenient = new TextDecoder("utf-8", { ignoreBOM: true })
const utf8 = new TextEncoder()

/** encode returns a text as UTF-8. */
export const encode = (text: string): Uint8Array<ArrayBuffer> => utf8.encode(text)

/** decode returns UTF-8 as a text. What is not UTF-8 is shown as U+FFFD. */
export const decode = (b: Uint8Array): string => lenient.decode(b)

/** Reader reads a peer's bytes, little endian. It throws Malformed and never reads past the end. */
export class Reader {
  at = 0
  readonly b: Uint8Array
  private readonly view: DataView

  constructor(b: Uint8Array) {
    this.b = b
    this.view = new DataView(b.buffer, b.byteOffset, b.byteLength)
  }

  get left(): number { return this.b.length - this.at }

  fail(field: string, what: string): never { throw new Malformed(`${field} at ${this.at}: ${what}`) }

  private take(field: string, n: number): number {
    if (this.left < n) this.fail(field, `${n} bytes, ${this.left} left`)
    this.at += n
    return this.at - n
  }

  u8(field: string): number { return this.view.getUint8(this.take(field, 1)) }
  i8(field: string): number { return this.view.getInt8(this.take(field, 1)) }
  u16(field: string): number { return this.view.getUint16(this.take(field, 2), true) }
  i16(field: string): number { return this.view.getInt16(this.take(field, 2), true) }
  u32(field: string): number { return this.view.getUint32(this.take(field, 4), true) }
  i32(field: string): number { return this.view.getInt32(this.take(field, 4), true) }
  u64(field: string): bigint { return this.view.getBigUint64(this.take(field, 8), true) }
  i64(field: string): bigint { return this.view.getBigInt64(this.take(field, 8), true) }
  f32(field: string): number { return this.view.getFloat32(this.take(field, 4), true) }
  f64(field: string): number { return this.view.getFloat64(this.take(field, 8), true) }

  bytes(field: string, n: number): Uint8Array {
    const at = this.take(field, n)
    return this.b.subarray(at, at + n)
  }

  /** name reads a size of one byte and as many bytes of UTF-8. */
  name(field: string): string {
    const b = this.bytes(field, this.u8(field + " size"))
    try {
      return strict.decode(b)
    } catch {
      return this.fail(field, "is not UTF-8")
    }
  }

  rest(): Uint8Array { return this.bytes("rest", this.left) }

  /** many holds a count against the bytes that are left before anything is read. */
  many(field: string, n: number, least: number): number {
    if (n * least > this.left) this.fail(field, `${n} of at least ${least} bytes, ${this.left} bytes left`)
    return n
  }

  done(): void { if (this.left > 0) this.fail("end", "bytes too many") }
}

/** Writer appends little endian. */
export class Writer {
  private b = new Uint8Array(64)
  private view = new DataView(this.b.buffer)
  private n = 0

  get length(): number { return this.n }

  /** room makes room for n bytes, and counts them. The buffer may be another one afterwards: ask for it then. */
  private room(n: number): DataView {
    if (this.n + n > this.b.length) {
      const b = new Uint8Array(Math.max(2 * this.b.length, this.n + n))
      b.set(this.b)
      this.b = b
      this.view = new DataView(b.buffer)
    }
    this.n += n
    return this.view
  }

  u8(v: number): this { this.room(1).setUint8(this.n - 1, v); return this }
  u16(v: number): this { this.room(2).setUint16(this.n - 2, v, true); return this }
  u32(v: number): this { this.room(4).setUint32(this.n - 4, v, true); return this }
  u64(v: bigint): this { this.room(8).setBigUint64(this.n - 8, v, true); return this }
  f32(v: number): this { this.room(4).setFloat32(this.n - 4, v, true); return this }
  f64(v: number): this { this.room(8).setFloat64(this.n - 8, v, true); return this }
  bytes(v: Uint8Array): this {
    this.room(v.length)
    this.b.set(v, this.n - v.length)
    return this
  }

  name(text: string): this {
    const b = encode(text)
    if (b.length > 255) throw new RangeError(`parley: a name of ${b.length} bytes: the limit is 255`)
    return this.u8(b.length).bytes(b)
  }

  done(): Uint8Array<ArrayBuffer> { return this.b.slice(0, this.n) }
}
