package core

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/wire"
)

// T1: what is written is read again, and what is read is written as it came. One Datagram
// reads all, so that what stays of the one before would show.
func TestDatagramsRoundTrip(t *testing.T) {
	r := kit.Rand(t)
	var d, got Datagram
	var b, again []byte
	for range promise.Keeps(t, "T1", "relay", kit.Rounds(1_000_000, 10_000_000)) {
		for _, kind := range bothKinds {
			randomDatagram(r, kind, &d)
			b = d.AppendTo(b[:0])
			if !got.Parse(b) || !same(&got, &d) {
				t.Fatalf("%x\ngot  %+v: %v\nwant %+v", b, got, got.ParseErr(b), d)
			}
			if again = got.AppendTo(append(again[:0], "behind"...)); string(again) != "behind"+string(b) {
				t.Fatalf("read  %x\nwrote %x", b, again)
			}
		}
	}
}

// T2: nothing that ends inside its header or inside an id is read; a package that is cut behind
// its header is another with a shorter payload, and a confirmation that is cut between ids is one
// of fewer.
func TestEveryPrefixAndEveryLongerDatagram(t *testing.T) {
	r := kit.Rand(t)
	var d, got Datagram
	var b []byte
	for range promise.Keeps(t, "T2", "relay", kit.Rounds(100_000, 1_000_000)) {
		for _, kind := range bothKinds {
			randomDatagram(r, kind, &d)
			b = d.AppendTo(b[:0])
			for n := range b {
				want := n >= HeaderBytes
				if kind == KindConfirmation {
					want = n > HeaderBytes && (n-HeaderBytes)%3 == 0
				}
				if accepted := got.Parse(b[:n:n]); accepted != want {
					t.Fatalf("%x: its first %d bytes accepted: %t", b, n, accepted)
				}
			}
			b = append(b, byte(r.Uint32()))
			if accepted := got.Parse(b); accepted != (kind == KindPackage && len(b) <= MaxDatagram) {
				t.Fatalf("%x: accepted with a byte more: %t", b, accepted)
			}
		}
	}
}

// T3: random bytes, half of them from valid datagrams with something changed. Nothing panics or
// allocates, the oracle says the same of each, and what is accepted is canonical but for the
// bits that are ignored.
func TestRandomBytes(t *testing.T) {
	r := kit.Rand(t)
	valid := make([][]byte, 64)
	for i := range valid {
		var d Datagram
		randomDatagram(r, bothKinds[i%2], &d)
		valid[i] = d.AppendTo(nil)
	}
	out := make([]byte, 0, 2*MaxDatagram)
	var got, want Datagram
	kit.RandomBytes(t, "relay", valid, 8, func(in []byte, _ uint64) int {
		ok := got.Parse(in)
		if ok != oracle(in, &want) || ok && !same(&got, &want) {
			t.Fatalf("%x: accepted %t\ngot  %+v\nwant %+v", in, ok, got, want)
		}
		if !ok {
			if got.Kind != 0 {
				t.Fatalf("%x: refused, and yet a %v", in, got.Kind)
			}
			return 0
		}
		canonical(in)
		if out = got.AppendTo(out[:0]); !bytes.Equal(out, in) {
			t.Fatalf("read  %x\nwrote %x", in, out)
		}
		return 1
	})
}

// T5: each flags byte with each size around the limits, and some ids.
func TestEveryFlagsAndSize(t *testing.T) {
	promise.Keeps(t, "T5", "relay", 1)
	var got, want Datagram
	b := make([]byte, 600)
	copy(b[4:], noise)
	for flags := range 256 {
		for _, id := range []uint32{0, 1, 255, 256, 65535, 65536, MaxID - 1, MaxID} {
			b[0], b[1], b[2], b[3] = byte(flags), byte(id>>16), byte(id>>8), byte(id)
			for n := range b {
				ok := got.Parse(b[:n])
				if ok != oracle(b[:n], &want) || ok && !same(&got, &want) {
					t.Fatalf("%x and %d bytes in all: accepted %t as %+v, want %+v", b[:4], n, ok, got, want)
				}
				if ok && cap(got.Payload) != len(got.Payload) {
					t.Fatalf("the payload has room behind it")
				}
			}
		}
	}
	large := make([]byte, 65_507)
	if got.Parse(large) {
		t.Error("as much as UDP carries is accepted")
	}
}

// Every error is a *wire.Error, and says what is wrong where.
func TestErrorsNameFieldAndOffset(t *testing.T) {
	for _, tt := range []struct {
		name string
		b    []byte
		want string
	}{
		{"an empty datagram", nil, "flags: 1 byte wanted at offset 0, 0 left"},
		{"a header cut short", []byte{0, 1, 2}, "id: 3 bytes wanted at offset 1, 2 left"},
		{"mode 11", []byte{0x60, 0, 0, 1}, "flags: there is no mode 11 at offset 0"},
		{"a payload too long", make([]byte, 509), "payload: size 505 at offset 4, limit 504"},
		{"a control bit", []byte{0x90, 0, 0, 0, 0, 0, 1}, "flags: a bit beside the highest is set in a control datagram at offset 0"},
		{"a control id", []byte{0x80, 0, 0, 1, 0, 0, 1}, "id: that of a control datagram is 0 at offset 1"},
		{"nothing confirmed", []byte{0x80, 0, 0, 0}, "ids: a confirmation of nothing at offset 4"},
		{"an id cut short", []byte{0x80, 0, 0, 0, 1, 2, 3, 4}, "ids: the last one is cut short at offset 7"},
		{"too many ids", append([]byte{0x80, 0, 0, 0}, make([]byte, 507)...), "ids: size 507 at offset 4, limit 504"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d Datagram
			err := d.ParseErr(tt.b)
			if err == nil || err.Error() != tt.want || d.Parse(tt.b) {
				t.Errorf("%x: got %v, want %s", tt.b, err, tt.want)
			}
			if e := (*wire.Error)(nil); !errors.As(err, &e) {
				t.Errorf("%T is not a *wire.Error", err)
			}
		})
	}
}

func TestAppendToWantsAKind(t *testing.T) {
	for _, kind := range []Kind{0, KindConfirmation + 1, 255} {
		func() {
			defer func() {
				if got := recover(); got == nil || !strings.HasPrefix(got.(string), "relay: ") {
					t.Errorf("kind %d: recovered %v", kind, got)
				}
			}()
			(&Datagram{Kind: kind}).AppendTo(nil)
		}()
	}
}

// T7: relay has no float on the wire. A change of that must meet a rule on NaN.
func TestDatagramHasNoFloats(t *testing.T) {
	promise.Keeps(t, "T7", "relay", 1)
	for _, v := range []any{Datagram{}, Package{}, Ticket{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			if k := f.Type.Kind(); k == reflect.Float32 || k == reflect.Float64 {
				t.Errorf("%T.%s is a float: which values are refused?", v, f.Name)
			}
		}
	}
}

// Every value of a closed set has a name of its own, and what is none has that of the zero one.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{KindPackage.String(), KindConfirmation.String(), Unreliable.String(), Unordered.String(), SemiOrdered.String(),
		StateJoining.String(), StateOpen.String(), StateLeaving.String(), StateClosing.String(), StateClosed.String(),
		"event " + EventJoined.String(), "event " + EventPackage.String(), "event " + EventLeft.String(), ToOthers.String(), ToServer.String()} {
		if name == "" || name == "unset" || seen[name] {
			t.Errorf("the name %q is no name, or one of two", name)
		}
		seen[name] = true
	}
	for r := ReasonClosed; r <= ReasonSocket; r++ {
		if r.String() == "unset" || seen["reason "+r.String()] {
			t.Errorf("Reason(%d) is %q", r, r)
		}
		seen["reason "+r.String()] = true
	}
	for _, got := range []string{Kind(9).String(), State(9).String(), EventKind(9).String(), Reason(99).String()} {
		if got != "unset" {
			t.Errorf("what is none is named %q", got)
		}
	}
	if got := Mode(3).String(); got != "no mode" {
		t.Errorf("Mode(3) is %q", got)
	}
}
