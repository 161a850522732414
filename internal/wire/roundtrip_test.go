package wire

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"parley/internal/promise"
)

const someText = "naïve Müller 日本語 🚀 plain text that is longer than eight bytes"

// validTexts holds every prefix of someText that is UTF-8.
var validTexts = func() (all []string) {
	for i := range someText {
		all = append(all, someText[:i])
	}
	return append(all, someText)
}()

// T1: what is written is read again, and what is read is written as it came.
func TestMessagesRoundTrip(t *testing.T) {
	r := newRand(t)
	var m, got message
	var b, again []byte
	for range promise.Keeps(t, "T1", "wire", rounds(1_000_000, 10_000_000)) {
		m.randomise(r, "")
		m.Name = append(m.Name[:0], validTexts[r.IntN(len(validTexts))]...)
		b = m.appendTo(b[:0])
		if !got.parse(b) || !got.equal(&m) {
			t.Fatalf("%x\ngot  %+v: %v\nwant %+v", b, got, got.explain(b), m)
		}
		if again = got.appendTo(again[:0]); !bytes.Equal(again, b) {
			t.Fatalf("read %x\nwrote %x", b, again)
		}
	}
}

// T1 for lists in lists, big endian.
func TestUpdatesRoundTrip(t *testing.T) {
	r := newRand(t)
	var u, got update
	var b, again []byte
	for range promise.Keeps(t, "T1", "wire", rounds(1_000_000, 10_000_000)) {
		u.randomise(r)
		b = u.appendTo(b[:0])
		if !got.parse(b) {
			t.Fatalf("%x\nof %+v: %v", b, u, got.explain(b))
		}
		if again = got.appendTo(again[:0]); !bytes.Equal(again, b) {
			t.Fatalf("read %x\nwrote %x", b, again)
		}
	}
}

// T2: nothing that ends early is read, and nothing that goes on too long.
func TestEveryPrefixAndEveryLongerMessageIsRefused(t *testing.T) {
	r := newRand(t)
	var m message
	var u update
	var b []byte
	check := func(kind string, parse func([]byte) bool, explain func([]byte) error) {
		if !parse(b) {
			t.Fatalf("%s %x: %v", kind, b, explain(b))
		}
		for n := range b {
			if parse(b[:n:n]) {
				t.Fatalf("%s %x: its first %d bytes are read as a whole", kind, b, n)
			}
		}
		if b = append(b, byte(r.Uint32())); parse(b) {
			t.Fatalf("%s %x: the last byte is not missed", kind, b)
		}
		want := Error{Offset: len(b) - 1, Cause: CauseLeftOver, Left: 1}
		if got := explain(b).(*Error); *got != want {
			t.Fatalf("%s %x: got %+v, want %+v", kind, b, *got, want)
		}
	}
	for range promise.Keeps(t, "T2", "wire", rounds(100_000, 1_000_000)) {
		m.randomise(r, "ascii only")
		b = m.appendTo(b[:0])
		check("message", m.parse, m.explain)
		u.randomise(r)
		b = u.appendTo(b[:0])
		check("update", u.parse, u.explain)
	}
}

func TestNumbersHaveTheirByteOrder(t *testing.T) {
	b := []byte{0x81, 0x02, 0x83, 0x04, 0x85, 0x06, 0x87, 0x08}
	little := func() *LittleReader { r := Little(b); return &r }
	big := func() *BigReader { r := Big(b); return &r }
	l, g := little(), big()
	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"U8", l.U8("f"), uint8(0x81)},
		{"U8 again", l.U8("f"), uint8(0x02)},
		{"I8", l.I8("f"), int8(-0x7d)},
		{"little U16", little().U16("f"), uint16(0x0281)},
		{"little U24", little().U24("f"), uint32(0x830281)},
		{"little U32", little().U32("f"), uint32(0x04830281)},
		{"little U64", little().U64("f"), uint64(0x0887068504830281)},
		{"little I16", little().I16("f"), int16(0x0281)},
		{"little I32", little().I32("f"), int32(0x04830281)},
		{"little I64", little().I64("f"), int64(0x0887068504830281)},
		{"little F32", little().F32("f"), math.Float32frombits(0x04830281)},
		{"little F64", little().F64("f"), math.Float64frombits(0x0887068504830281)},
		{"big U8", g.U8("f"), uint8(0x81)},
		{"big I8", g.I8("f"), int8(2)},
		{"big U16", big().U16("f"), uint16(0x8102)},
		{"big U24", big().U24("f"), uint32(0x810283)},
		{"big U32", big().U32("f"), uint32(0x81028304)},
		{"big U64", big().U64("f"), uint64(0x8102830485068708)},
		{"big I16", big().I16("f"), int16(-0x7efe)},
		{"big I32", big().I32("f"), int32(-0x7efd7cfc)},
		{"big I64", big().I64("f"), int64(-0x7efd7cfb7af978f8)},
		{"big F32", big().F32("f"), math.Float32frombits(0x81028304)},
		{"big F64", big().F64("f"), math.Float64frombits(0x8102830485068708)},
		{"big FiniteF32", big().FiniteF32("f"), math.Float32frombits(0x81028304)},
		{"big FiniteF64", big().FiniteF64("f"), math.Float64frombits(0x8102830485068708)},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %#x, want %#x", tt.name, tt.got, tt.want)
		}
	}
}

// T1 for what append.go adds to encoding/binary.
func TestAppendsAreReadBack(t *testing.T) {
	r := newRand(t)
	var b []byte
	for range promise.Keeps(t, "T1", "wire", rounds(100_000, 1_000_000)) {
		v := r.Uint64()
		f32, f64 := math.Float32frombits(uint32(v)), math.Float64frombits(v)
		b = AppendLittleF64(AppendLittleF32(AppendLittleU24(b[:0], uint32(v)), f32), f64)
		l := Little(b)
		if got := l.U24("f"); got != uint32(v)&0xff_ffff {
			t.Fatalf("%x: little 24 bits: got %#x", v, got)
		}
		if got := math.Float32bits(l.F32("f")); got != uint32(v) {
			t.Fatalf("%x: little F32: got %#x", v, got)
		}
		if got := math.Float64bits(l.F64("f")); got != v || !l.Done() {
			t.Fatalf("%x: little F64: got %#x, %v", v, got, l.Err())
		}
		b = AppendBigF64(AppendBigF32(AppendBigU24(b[:0], uint32(v)), f32), f64)
		want := binary.BigEndian.AppendUint32(nil, uint32(v))
		want = slices.Concat(want[1:], want, binary.BigEndian.AppendUint64(nil, v))
		if !bytes.Equal(b, want) {
			t.Fatalf("big: got %x, want %x", b, want)
		}
		g := Big(b)
		if got := g.U24("f"); got != uint32(v)&0xff_ffff {
			t.Fatalf("%x: big 24 bits: got %#x", v, got)
		}
		if got := math.Float32bits(g.F32("f")); got != uint32(v) {
			t.Fatalf("%x: big F32: got %#x", v, got)
		}
		if got := math.Float64bits(g.F64("f")); got != v || !g.Done() {
			t.Fatalf("%x: big F64: got %#x, %v", v, got, g.Err())
		}
	}
}
