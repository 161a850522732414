package world

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/internal/promise"
)

var orders = []Order{{}, {Big: true}, {WideText: true}, {Big: true, WideText: true}}

func randomValue(r *rand.Rand, t Type) Value {
	switch t {
	case Bool:
		return UintValue(t, r.Uint64()&1)
	case F32, F64:
		return FloatValue(t, r.NormFloat64()*1e6)
	case Text:
		return TextValue(strings.Repeat("é", r.IntN(20)))
	case I8, I16, I32, I64:
		shift := 64 - 8*t.Bytes()
		return IntValue(t, int64(r.Uint64()<<shift)>>shift)
	}
	return UintValue(t, r.Uint64()>>(64-8*t.Bytes()))
}

// T1, T2: what is written is read again, and no shorter part of it is.
func TestValuesRoundTrip(t *testing.T) {
	r := newRand(t)
	for range promise.Keeps(t, "T1 T2", "world", rounds(100_000, 1_000_000)) {
		typ := Type(1 + r.IntN(int(Entity)))
		v, o := randomValue(r, typ), orders[r.IntN(len(orders))]
		b := v.AppendTo([]byte{9}, o)[1:]
		got, n, ok := ParseValue(typ, 250, append(b, 7), o)
		if !ok || n != len(b) || got != v {
			t.Fatalf("%v %+v: %x read as %v, %d, %v", v, o, b, got, n, ok)
		}
		if again := got.AppendTo(nil, o); !bytes.Equal(again, b) {
			t.Fatalf("%x is written again as %x", b, again)
		}
		cut := r.IntN(len(b))
		if _, _, ok := ParseValue(typ, 250, b[:cut], o); ok {
			t.Fatalf("%v: %d of %d bytes are taken", typ, cut, len(b))
		}
	}
}

// The bytes as the dialects print them: T6.
func TestValuesAreWrittenAsPrinted(t *testing.T) {
	promise.Keeps(t, "T6", "world", 1)
	for _, tt := range []struct {
		v    Value
		o    Order
		want string
	}{
		{UintValue(U16, 513), Order{Big: true}, "\x02\x01"},
		{UintValue(U16, 513), Order{}, "\x01\x02"},
		{IntValue(I16, -2), Order{Big: true}, "\xff\xfe"},
		{FloatValue(F32, 1.5), Order{Big: true}, "\x3f\xc0\x00\x00"},
		{FloatValue(F64, 1.5), Order{}, "\x00\x00\x00\x00\x00\x00\xf8\x3f"},
		{TextValue("ab"), Order{}, "\x02ab"},
		{TextValue("ab"), Order{Big: true, WideText: true}, "\x00\x02ab"},
		{UintValue(Bool, 1), Order{}, "\x01"},
		{UintValue(Entity, 600), Order{Big: true}, "\x02\x58"},
	} {
		if got := string(tt.v.AppendTo(nil, tt.o)); got != tt.want {
			t.Errorf("%v: %x, want %x", tt.v, got, tt.want)
		}
	}
}

// T5, T7.
func TestBadValuesAreRefused(t *testing.T) {
	promise.Keeps(t, "T5 T7", "world", 1)
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, typ := range []Type{F32, F64} {
			v := FloatValue(typ, f)
			if v.Finite() {
				t.Errorf("%v is finite", f)
			}
			if _, _, ok := ParseValue(typ, 0, v.AppendTo(nil, Order{}), Order{}); ok {
				t.Errorf("%v is taken as %v", f, typ)
			}
		}
	}
	for name, b := range map[string]string{"a text that is too long": "\x03abc", "a text that is not UTF-8": "\x01\xff", "a text that ends early": "\x02a"} {
		if _, _, ok := ParseValue(Text, 2, []byte(b), Order{}); ok {
			t.Error(name)
		}
	}
	if _, _, ok := ParseValue(Bool, 0, []byte{2}, Order{}); ok {
		t.Error("2 is a bool")
	}
	if _, _, ok := ParseValue(0, 0, []byte{2}, Order{}); ok {
		t.Error("no type is a type")
	}
	for _, f := range []float64{0, math.Copysign(0, -1), math.MaxFloat32, 1e-45} {
		if !FloatValue(F32, f).Finite() {
			t.Errorf("%v is not finite", f)
		}
	}
}

func TestValuesAsText(t *testing.T) {
	for want, v := range map[string]Value{
		"true": UintValue(Bool, 1), "-3": IntValue(I8, -3), "0.1": FloatValue(F32, 0.1), "0.25": FloatValue(F64, 0.25),
		`"a"`: TextValue("a"), "7": UintValue(U64, 7), "12": UintValue(Entity, 12),
	} {
		if got := v.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if Type(0).String() != "unset" || Type(99).String() != "unset" || F32.String() != "f32" || Type(99).Bytes() != 0 {
		t.Error("the name of a type")
	}
}

func FuzzParseValue(f *testing.F) {
	f.Add(uint8(Text), uint8(3), []byte("\x02ab"))
	f.Add(uint8(F32), uint8(0), []byte{0, 0, 0xc0, 0x7f})
	f.Fuzz(func(t *testing.T, typ, order uint8, b []byte) {
		o := orders[int(order)%len(orders)]
		v, n, ok := ParseValue(Type(typ), 250, b, o)
		if !ok {
			return
		}
		if got := v.AppendTo(nil, o); !bytes.Equal(got, b[:n]) {
			t.Fatalf("%x is written as %x", b[:n], got)
		}
	})
}
