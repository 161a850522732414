package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// model is the cursor as one would write it without a thought for speed: it
// judges first, then copies, then reads by encoding/binary.
type model struct {
	b   []byte
	pos int
	err *Error
}

func (m *model) fail(e Error) {
	if m.err == nil {
		e.Field, e.Left = "f", len(m.b)-e.Offset
		m.err = &e
	}
	m.pos = len(m.b)
}

func (m *model) take(n, max int) []byte {
	switch {
	case m.err != nil && n != 0:
		return nil
	case n < 0 || n > max:
		m.fail(Error{Offset: m.pos, Cause: CauseLimit, Want: n, Limit: max})
		return nil
	case n > len(m.b)-m.pos:
		m.fail(Error{Offset: m.pos, Cause: CauseShort, Want: n})
		return nil
	}
	m.pos += n
	return bytes.Clone(m.b[m.pos-n : m.pos])
}

// number reads n bytes as an unsigned number.
func (m *model) number(order binary.ByteOrder, n int) uint64 {
	b := m.take(n, n)
	if b == nil {
		return 0
	}
	if order == binary.ByteOrder(binary.LittleEndian) {
		return order.Uint64(append(b, make([]byte, 8-n)...))
	}
	return order.Uint64(append(make([]byte, 8-n), b...))
}

func (m *model) finite(order binary.ByteOrder, n int) uint64 {
	at := m.pos
	v := m.number(order, n)
	f := math.Float64frombits(v)
	if n == 4 {
		f = float64(math.Float32frombits(uint32(v)))
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		m.fail(Error{Offset: at, Cause: CauseNotFinite})
		return 0
	}
	return v
}

func (m *model) text(n, max int) []byte {
	at := m.pos
	b := m.take(n, max)
	for i, r := range string(b) {
		// A bad byte reads as the replacement rune, which is itself three bytes long.
		if r == utf8.RuneError && !bytes.HasPrefix(b[i:], []byte("\uFFFD")) {
			m.fail(Error{Offset: at + i, Cause: CauseNotUTF8})
			return nil
		}
	}
	return b
}

func (m *model) count(n, max, element int) int {
	left := len(m.b) - m.pos
	switch {
	case m.err != nil:
		return 0
	case n < 0 || n > max:
		m.fail(Error{Offset: m.pos, Cause: CauseLimit, Want: n, Limit: max})
		return 0
	case n > left/element:
		want := n * element
		if want/element != n {
			want = math.MaxInt
		}
		m.fail(Error{Offset: m.pos, Cause: CauseShort, Want: want})
		return 0
	}
	return n
}

// numbers pairs each read of a number, in both orders, with the model's.
var numbers = []struct {
	size   int
	finite bool
	little func(*LittleReader) uint64
	big    func(*BigReader) uint64
}{
	{1, false, func(r *LittleReader) uint64 { return uint64(r.U8("f")) }, func(r *BigReader) uint64 { return uint64(r.U8("f")) }},
	{1, false, func(r *LittleReader) uint64 { return uint64(uint8(r.I8("f"))) }, func(r *BigReader) uint64 { return uint64(uint8(r.I8("f"))) }},
	{2, false, func(r *LittleReader) uint64 { return uint64(r.U16("f")) }, func(r *BigReader) uint64 { return uint64(r.U16("f")) }},
	{2, false, func(r *LittleReader) uint64 { return uint64(uint16(r.I16("f"))) }, func(r *BigReader) uint64 { return uint64(uint16(r.I16("f"))) }},
	{3, false, func(r *LittleReader) uint64 { return uint64(r.U24("f")) }, func(r *BigReader) uint64 { return uint64(r.U24("f")) }},
	{4, false, func(r *LittleReader) uint64 { return uint64(r.U32("f")) }, func(r *BigReader) uint64 { return uint64(r.U32("f")) }},
	{4, false, func(r *LittleReader) uint64 { return uint64(uint32(r.I32("f"))) }, func(r *BigReader) uint64 { return uint64(uint32(r.I32("f"))) }},
	{4, false, func(r *LittleReader) uint64 { return uint64(math.Float32bits(r.F32("f"))) }, func(r *BigReader) uint64 { return uint64(math.Float32bits(r.F32("f"))) }},
	{4, true, func(r *LittleReader) uint64 { return uint64(math.Float32bits(r.FiniteF32("f"))) }, func(r *BigReader) uint64 { return uint64(math.Float32bits(r.FiniteF32("f"))) }},
	{8, false, func(r *LittleReader) uint64 { return r.U64("f") }, func(r *BigReader) uint64 { return r.U64("f") }},
	{8, false, func(r *LittleReader) uint64 { return uint64(r.I64("f")) }, func(r *BigReader) uint64 { return uint64(r.I64("f")) }},
	{8, false, func(r *LittleReader) uint64 { return math.Float64bits(r.F64("f")) }, func(r *BigReader) uint64 { return math.Float64bits(r.F64("f")) }},
	{8, true, func(r *LittleReader) uint64 { return math.Float64bits(r.FiniteF64("f")) }, func(r *BigReader) uint64 { return math.Float64bits(r.FiniteF64("f")) }},
}

// sizes are what a script may give as a size, a limit or a count.
var sizes = []int{0, 1, 2, 3, 4, 7, 8, 9, 16, 31, 255, 256, 65_535, math.MaxInt32, math.MaxInt, -1, math.MinInt}

// runScript makes the reads that a script names, on the input by both readers
// and by the model, and compares all that can be seen after each.
func runScript(t *testing.T, script, in []byte) {
	l, g := Little(in), Big(in)
	ml, mg := &model{b: in}, &model{b: in}
	next := func() int {
		if len(script) == 0 {
			return 0
		}
		v := script[0]
		script = script[1:]
		return int(v)
	}
	size := func() int { return sizes[next()%len(sizes)] }
	for step := 0; len(script) > 0; step++ {
		op := next()
		bytesOf := func(read func(*Reader) []byte, want func(*model) []byte) {
			for _, p := range []struct {
				r *Reader
				m *model
			}{{&l.Reader, ml}, {&g.Reader, mg}} {
				if got, want := read(p.r), want(p.m); !bytes.Equal(got, want) {
					t.Fatalf("step %d, op %d: got %x, want %x", step, op, got, want)
				}
			}
		}
		switch n, max := 0, 0; op % 20 {
		default:
			f := numbers[op%20%len(numbers)]
			wantL, wantG := ml.number, mg.number
			if f.finite {
				wantL, wantG = ml.finite, mg.finite
			}
			if got, want := f.little(&l), wantL(binary.LittleEndian, f.size); got != want {
				t.Fatalf("step %d, op %d, little: got %#x, want %#x", step, op, got, want)
			}
			if got, want := f.big(&g), wantG(binary.BigEndian, f.size); got != want {
				t.Fatalf("step %d, op %d, big: got %#x, want %#x", step, op, got, want)
			}
		case 13:
			n, max = size(), size()
			bytesOf(func(r *Reader) []byte { return r.Bytes("f", n, max) }, func(m *model) []byte { return m.take(n, max) })
		case 14:
			n, max = size(), size()
			bytesOf(func(r *Reader) []byte { return r.Text("f", n, max) }, func(m *model) []byte { return m.text(n, max) })
		case 15:
			max = size()
			bytesOf(func(r *Reader) []byte { return r.Rest("f", max) }, func(m *model) []byte { return m.take(len(m.b)-m.pos, max) })
		case 16:
			n = size()
			bytesOf(func(r *Reader) []byte { r.Skip("f", n); return nil }, func(m *model) []byte { m.take(n, n); return nil })
		case 17:
			n, max = size(), size()
			element := 1 + next()%9
			got, want := l.Count("f", n, max, element), ml.count(n, max, element)
			got2, want2 := g.Count("f", n, max, element), mg.count(n, max, element)
			if got != want || got2 != want2 {
				t.Fatalf("step %d: Count(%d, %d, %d) = %d and %d, want %d and %d", step, n, max, element, got, got2, want, want2)
			}
		case 18:
			at := l.Offset()
			if l.OK() {
				ml.fail(Error{Offset: at, Cause: CauseRefused, Why: "why"})
			}
			l.Fail(at, "f", "why")
		case 19:
			if g.OK() && mg.pos < len(mg.b) {
				mg.fail(Error{Offset: mg.pos, Cause: CauseLeftOver})
				mg.err.Field = ""
			}
			if got, want := g.Done(), mg.err == nil; got != want {
				t.Fatalf("step %d: Done %t, want %t", step, got, want)
			}
		}
		compare(t, step, op, &l.Reader, ml)
		compare(t, step, op, &g.Reader, mg)
	}
}

func compare(t *testing.T, step, op int, r *Reader, m *model) {
	t.Helper()
	if r.Offset() != m.pos || r.Len() != len(m.b)-m.pos || r.OK() != (m.err == nil) {
		t.Fatalf("step %d, op %d: offset %d, len %d, ok %t; want offset %d, %v", step, op, r.Offset(), r.Len(), r.OK(), m.pos, m.err)
	}
	if m.err == nil {
		if r.Err() != nil || r.Cause() != 0 {
			t.Fatalf("step %d, op %d: %v, want no error", step, op, r.Err())
		}
		return
	}
	if got := r.Err().(*Error); *got != *m.err || r.Cause() != m.err.Cause {
		t.Fatalf("step %d, op %d:\ngot  %+v\nwant %+v", step, op, *got, *m.err)
	}
}

// FuzzReader: the first input is a script of reads, the second what they read.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0, 2, 9, 13, 3, 10, 5}, message64())
	f.Add([]byte{17, 4, 9, 2, 4, 8, 19}, []byte("\x00\x01\x02\x03\x7f\x80\x00\x00\x7f\xc0\x00\x00"))
	f.Add([]byte{14, 5, 10, 14, 5, 10, 18}, []byte(someText))
	f.Add([]byte{16, 2, 13, 15, 15, 15, 1, 0}, []byte("short"))
	f.Add([]byte{13, 0, 0, 15, 10, 19, 12}, []byte{})
	f.Fuzz(func(t *testing.T, script, in []byte) { runScript(t, script, in) })
}

// The same with random scripts, so that a plain test run covers it too.
func TestRandomScriptsMatchTheModel(t *testing.T) {
	r := newRand(t)
	script, in := make([]byte, 24), make([]byte, 40)
	for range rounds(100_000, 10_000_000) {
		s, b := script[:r.IntN(len(script))], in[:r.IntN(len(in))]
		for i := range s {
			s[i] = byte(r.Uint32())
		}
		for i := range b {
			if b[i] = byte(r.Uint32()); i%3 == 0 {
				b[i] = "\x00\xff\x7f\x80a"[b[i]%5]
			}
		}
		runScript(t, s, b)
	}
}
