package wire

import (
	"bytes"
	"math"
	"runtime"
	"testing"

	"parley/internal/promise"
)

// T3: random bytes, half of them from valid messages with a few bytes changed.
// Nothing panics, nothing is allocated, and what is accepted is canonical.
func TestRandomBytes(t *testing.T) {
	r := newRand(t)
	var m message
	u := update{Entities: make([]entity, maxEntities)}
	for i := range u.Entities {
		u.Entities[i].Attributes = make([]attribute, maxAttributes)
	}
	var valid [64][]byte
	for i := range valid {
		var m message
		var u update
		if m.randomise(r, "ascii only"); i%2 == 0 {
			valid[i] = m.appendTo(nil)
			continue
		}
		u.randomise(r)
		valid[i] = u.appendTo(nil)
	}
	accepted, total := 0, promise.Keeps(t, "T3", "wire", rounds(10_000_000, 100_000_000))
	in, out := make([]byte, 256), make([]byte, 0, 256)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range total {
		if v := r.Uint64(); i%2 == 0 {
			in = in[:v%64]
			for j := range in {
				v = v*6364136223846793005 + 1442695040888963407
				in[j] = byte(v >> 56)
			}
		} else {
			in = append(in[:0], valid[v%64]...)
			for range v >> 8 % 4 {
				v = v*6364136223846793005 + 1442695040888963407
				in[int(v>>40)%len(in)] ^= byte(v>>32) & byte(v>>24)
			}
		}
		if m.parse(in) {
			accepted++
			if out = m.appendTo(out[:0]); !bytes.Equal(out, in) {
				t.Fatalf("message: read %x\nwrote %x", in, out)
			}
		}
		if u.parse(in) {
			accepted++
			if out = u.appendTo(out[:0]); !bytes.Equal(out, in) {
				t.Fatalf("update: read %x\nwrote %x", in, out)
			}
		}
	}
	runtime.ReadMemStats(&after)
	if accepted < total/10 || accepted > total {
		t.Errorf("%d of %d accepted: the inputs are not a mix of good and bad", accepted, total)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated, want a constant few", got)
	}
}

// lies returns the numbers of T5 around a limit, as a codec would pass them on:
// converted to an int, whatever that makes of them.
func lies(limit int) []int {
	all := []int{limit - 1, limit, limit + 1}
	for _, v := range []uint64{0, 1, 1 << 15, 1<<16 - 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<63 - 1, 1 << 63, math.MaxUint64} {
		all = append(all, int(v))
	}
	return all
}

// T5: a size or count is judged by its limit and by what is there, whatever it is.
func TestLyingNumbers(t *testing.T) {
	promise.Keeps(t, "T5", "wire", 1)
	const field = "f"
	for _, limit := range []int{0, 1, 5, 300, 1 << 16, math.MaxInt, -1, math.MinInt} {
		for _, size := range []int{0, 1, 4, 5, 299, 300, 301, 70_000} {
			b := make([]byte, size)
			for _, n := range lies(limit) {
				ok := n >= 0 && n <= limit && n <= size
				cause := CauseShort
				if n < 0 || n > limit {
					cause = CauseLimit
				}
				var r Reader
				check := func(what string, ok bool, got, want int, cause Cause) {
					t.Helper()
					if !ok {
						want = 0
					} else {
						cause = 0
					}
					if r.OK() != ok || r.Cause() != cause || got != want {
						t.Errorf("%s of %d, limit %d, in %d bytes: got %d, %v; want %d, %v", what, n, limit, size, got, r.Cause(), want, cause)
					}
				}
				r = Reader{b: b}
				check("Bytes", ok, len(r.Bytes(field, n, limit)), n, cause)
				r = Reader{b: b}
				check("Text", ok, len(r.Text(field, n, limit)), n, cause)
				for _, element := range []int{0, 1, 2, 7, math.MaxInt} {
					r = Reader{b: b}
					fits := n == 0 || element == 0 || n <= size/element
					check("Count", n >= 0 && n <= limit && fits, r.Count(field, n, limit, element), n, cause)
				}
				r = Reader{b: b}
				r.Skip(field, n)
				skipped, skipCause := n >= 0 && n <= size, CauseShort
				if n < 0 {
					skipCause = CauseLimit
				}
				check("Skip", skipped, r.Offset()*b2i(r.OK()), n, skipCause)
			}
			r := Reader{b: b}
			if got := r.Rest(field, limit); r.OK() != (size <= limit) || len(got) != size*b2i(size <= limit) {
				t.Errorf("Rest, limit %d, in %d bytes: got %d, %v", limit, size, len(got), r.Err())
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// T5: the turns of a loop over elements are bounded by the input, not by the
// count; and the list is not made.
func TestLyingCountsMakeNothing(t *testing.T) {
	promise.Keeps(t, "T5", "wire", 1)
	var u update
	for _, b := range [][]byte{
		{0, 0, 0xff, 0xff},     // more than the limit
		{0, 0, 0, maxEntities}, // the limit, and nothing there
		append([]byte{0, 0, 0, 3}, make([]byte, 3*8-1)...), // one byte too few
	} {
		if u.parse(b) || cap(u.Entities) != 0 {
			t.Errorf("%x: %d entities made", b, cap(u.Entities))
		}
	}
}

// T5: a count that was good when it was read makes no loop after a failure.
func TestCountsAreZeroAfterAFailure(t *testing.T) {
	promise.Keeps(t, "T5", "wire", 1)
	r := Big([]byte{3})
	n := int(r.U8("count"))
	r.U16("missing")
	if got := r.Count("empty elements", n, 9, 0); got != 0 {
		t.Errorf("got %d turns, want 0", got)
	}
	if e := r.Err().(*Error); e.Field != "missing" {
		t.Errorf("got %v, want the first failure", e)
	}
}

// T7: a float that must be finite.
func TestFiniteFloats(t *testing.T) {
	promise.Keeps(t, "T7", "wire", 1)
	for _, tt := range []struct {
		name string
		v    float64
		ok   bool
	}{
		{"zero", 0, true},
		{"minus zero", math.Copysign(0, -1), true},
		{"one", 1, true},
		{"largest", math.MaxFloat64, true},
		{"smallest", math.SmallestNonzeroFloat64, true},
		{"infinity", math.Inf(1), false},
		{"minus infinity", math.Inf(-1), false},
		{"not a number", math.NaN(), false},
		{"a NaN of another kind", math.Float64frombits(0xfff0_0000_0000_0001), false},
	} {
		v32 := float32(tt.v)
		switch tt.v {
		case math.MaxFloat64:
			v32 = math.MaxFloat32
		case math.SmallestNonzeroFloat64:
			v32 = math.SmallestNonzeroFloat32
		}
		check := func(kind string, r *Reader, at, size int, got, want uint64) {
			t.Helper()
			if !tt.ok {
				want = 0
			}
			if r.OK() != tt.ok || got != want {
				t.Errorf("%s, %s: got %#x, %v", tt.name, kind, got, r.Err())
			}
			if e := (Error{Field: "v", Offset: at, Cause: CauseNotFinite, Left: size}); !tt.ok && *r.Err().(*Error) != e {
				t.Errorf("%s, %s: got %+v, want %+v", tt.name, kind, r.Err(), e)
			}
		}
		l := Little(AppendLittleF32([]byte{1}, v32))
		l.U8("first")
		check("little 32", &l.Reader, 1, 4, uint64(math.Float32bits(l.FiniteF32("v"))), uint64(math.Float32bits(v32)))
		l = Little(AppendLittleF64(nil, tt.v))
		check("little 64", &l.Reader, 0, 8, math.Float64bits(l.FiniteF64("v")), math.Float64bits(tt.v))
		g := Big(AppendBigF32(nil, v32))
		check("big 32", &g.Reader, 0, 4, uint64(math.Float32bits(g.FiniteF32("v"))), uint64(math.Float32bits(v32)))
		g = Big(AppendBigF64([]byte{1, 2}, tt.v))
		g.U16("first")
		check("big 64", &g.Reader, 2, 8, math.Float64bits(g.FiniteF64("v")), math.Float64bits(tt.v))
	}
}

// The world keeps what a message holds; appending to it must not write into the
// bytes behind it.
func TestBytesHaveNoRoomBehindThem(t *testing.T) {
	b := []byte("namedata")
	r := Little(b)
	name := r.Bytes("name", 4, 9)
	if cap(name) != 4 {
		t.Errorf("cap %d, want 4", cap(name))
	}
	_ = append(name, "XXXX"...)
	if got := r.Rest("data", 9); string(got) != "data" || cap(got) != 4 {
		t.Errorf("got %q with cap %d", got, cap(got))
	}
}
