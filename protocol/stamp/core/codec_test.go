package core

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/wire"
)

// T1: what is written is read again, from its sender only, and what is read is written
// as it came. One Packet reads all, so that what stays of the one before would show.
func TestPacketsRoundTrip(t *testing.T) {
	r := kit.Rand(t)
	var p, got Packet
	var b, again []byte
	for range promise.Keeps(t, "T1", "stamp", kit.Rounds(1_000_000, 10_000_000)) {
		for _, s := range shapes {
			s.random(r, &p)
			b = p.AppendTo(s.from, b[:0])
			if !got.Parse(s.from, b) || !same(&got, &p) {
				t.Fatalf("%s %x\ngot  %+v: %v\nwant %+v", s.name, b, got, got.ParseErr(s.from, b), p)
			}
			if again = got.AppendTo(s.from, again[:0]); !bytes.Equal(again, b) {
				t.Fatalf("%s: read  %x\nwrote %x", s.name, b, again)
			}
			if accepted := got.Parse(s.other(), b); accepted != (s.kind == KindAck) {
				t.Fatalf("%s %x: accepted from the other side: %t", s.name, b, accepted)
			}
		}
	}
}

// T2: nothing that ends early is read, and nothing that goes on too long, but for the
// data of an entity packet, which ends where the datagram does: there a prefix is
// another packet with less data.
func TestEveryPrefixAndEveryLongerPacketIsRefused(t *testing.T) {
	r := kit.Rand(t)
	var p, got Packet
	var b []byte
	for range promise.Keeps(t, "T2", "stamp", kit.Rounds(100_000, 1_000_000)) {
		for _, s := range shapes {
			s.random(r, &p)
			b = p.AppendTo(s.from, b[:0])
			whole := len(b)
			if s.kind == KindEntity {
				whole = HeaderBytes
			}
			for n := range b {
				accepted := got.Parse(s.from, b[:n:n])
				if accepted != (n >= whole) {
					t.Fatalf("%s %x: its first %d bytes accepted: %t", s.name, b, n, accepted)
				}
				if accepted && !bytes.Equal(got.Data, b[HeaderBytes:n]) {
					t.Fatalf("%s %x: its first %d bytes hold data %x", s.name, b, n, got.Data)
				}
			}
			b = append(b, byte(r.Uint32()))
			if accepted := got.Parse(s.from, b); accepted != (s.kind == KindEntity && len(b) <= MaxPacket) {
				t.Fatalf("%s %x: accepted with a byte more: %t", s.name, b, accepted)
			}
		}
	}
}

// T3: random bytes, half of them from valid packets with something changed, from both
// sides. Nothing panics or allocates, the oracle says the same of each, and what is
// accepted is canonical but for the flags that are ignored.
func TestRandomBytes(t *testing.T) {
	r := kit.Rand(t)
	valid := make([][]byte, 0, 64)
	for i := range cap(valid) {
		var p Packet
		s := shapes[i%len(shapes)]
		s.random(r, &p)
		valid = append(valid, p.AppendTo(s.from, nil))
	}
	out := make([]byte, 0, 2*MaxPacket)
	var got, want Packet
	kit.RandomBytes(t, "stamp", valid, 16, func(in []byte, _ uint64) (accepted int) {
		for _, from := range []Side{FromClient, FromServer} {
			ok := got.Parse(from, in)
			if ok != oracle(from, in, &want) || ok && !same(&got, &want) {
				t.Fatalf("%x from a %v: accepted %t\ngot  %+v\nwant %+v", in, from, ok, got, want)
			}
			if !ok {
				if got.Kind != 0 {
					t.Fatalf("%x from a %v: refused, and yet a %v", in, from, got.Kind)
				}
				continue
			}
			accepted++
			canonical(in)
			if out = got.AppendTo(from, out[:0]); !bytes.Equal(out, in) {
				t.Fatalf("read  %x\nwrote %x", in, out)
			}
		}
		return accepted
	})
}

// Each type byte with each byte behind the header, from each side: five packets pass,
// and nothing from a side that is unset.
func TestEveryTypeFromEverySide(t *testing.T) {
	var p Packet
	passed := map[Kind]int{}
	for kind := range 256 {
		for connect := range 256 {
			for _, from := range []Side{0, FromClient, FromServer} {
				for _, sequence := range []byte{0, 1} {
					b := []byte{byte(kind), 0, sequence, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte(connect), 0}
					for n := 12; n <= 14; n++ {
						var want Packet
						ok := oracle(from, b[:n], &want)
						if got := p.Parse(from, b[:n]); got != ok || ok && p.Kind != want.Kind {
							t.Fatalf("%x from %v: accepted %t as %v, want %t as %v", b[:n], from, got, p.Kind, ok, want.Kind)
						}
						if ok {
							passed[p.Kind]++
						}
					}
				}
			}
		}
	}
	if passed[0] != 0 || len(passed) != 5 {
		t.Errorf("passed: %v", passed)
	}
}

// Flags are ignored on connection packets and acks; of the 256 on an entity packet three
// are allowed.
func TestEveryFlags(t *testing.T) {
	var p Packet
	for _, s := range shapes {
		for flags := range 256 {
			in := Packet{Kind: s.kind}
			if s.kind == KindAccept {
				in.Sequence = 1
			}
			b := in.AppendTo(s.from, nil)
			b[1] = byte(flags)
			ok := p.Parse(s.from, b)
			entity := s.kind == KindEntity
			if want := !entity || flags == 0 || flags == 1 || flags == 3; ok != want {
				t.Errorf("%s with flags %#x: accepted %t, want %t", s.name, flags, ok, want)
			}
			if ok && (p.Reliable != (entity && flags&1 != 0) || p.Ordered != (entity && flags&2 != 0)) {
				t.Errorf("%s with flags %#x: reliable %t, ordered %t", s.name, flags, p.Reliable, p.Ordered)
			}
		}
	}
}

// T5: an init's sequence is 0, an accept's is 1, and others have any.
func TestEverySequence(t *testing.T) {
	promise.Keeps(t, "T5", "stamp", 1)
	var p Packet
	for _, s := range shapes {
		for sequence := range 1 << 16 {
			in := Packet{Kind: s.kind, Sequence: uint16(sequence)}
			want := s.kind != KindInit && s.kind != KindAccept || s.kind == KindInit && sequence == 0 || s.kind == KindAccept && sequence == 1
			if got := p.Parse(s.from, in.AppendTo(s.from, nil)); got != want || want && p.Sequence != uint16(sequence) {
				t.Fatalf("%s with sequence %d: accepted %t, want %t", s.name, sequence, got, want)
			}
		}
	}
}

// T5: each size that a reason can claim against each that it can have.
func TestEveryReasonSize(t *testing.T) {
	promise.Keeps(t, "T5", "stamp", 1)
	head := (&Packet{Kind: KindDisconnect, Sequence: 7}).AppendTo(FromServer, nil)[:13]
	var p Packet
	for size := range 256 {
		for n := range 300 {
			b := append(append(head[:13:13], byte(size)), noise[:n]...)
			ok := p.Parse(FromServer, b)
			if ok != (size == n) || ok && !bytes.Equal(p.Reason, noise[:n]) {
				t.Fatalf("size %d with %d bytes: accepted %t, reason %x", size, n, ok, p.Reason)
			}
			if p.Parse(FromClient, b) {
				t.Fatalf("size %d with %d bytes: accepted from a client", size, n)
			}
		}
	}
	if p.Parse(FromServer, head) || !p.Parse(FromClient, head) {
		t.Error("a disconnect without a size is a client's and no server's")
	}
}

// T5: data of each size up to the limit, past it, and as large as UDP carries.
func TestEveryDataSize(t *testing.T) {
	promise.Keeps(t, "T5", "stamp", 1)
	b := make([]byte, 65_507)
	b[0] = typeEntity
	copy(b[HeaderBytes:], noise)
	var p Packet
	for n := HeaderBytes; n <= len(b); n++ {
		if n == 1400 {
			n = len(b)
		}
		ok := p.Parse(FromServer, b[:n])
		if ok != (n <= 1200) || ok && (!bytes.Equal(p.Data, b[HeaderBytes:n]) || cap(p.Data) != len(p.Data)) {
			t.Fatalf("%d bytes: accepted %t with data of %d", n, ok, len(p.Data))
		}
	}
}

// Every error is a *wire.Error, and says what is wrong where.
func TestErrorsNameFieldAndOffset(t *testing.T) {
	with := func(p Packet, from Side, change func(b []byte) []byte) []byte { return change(p.AppendTo(from, nil)) }
	set := func(at int, v byte) func([]byte) []byte {
		return func(b []byte) []byte { b[at] = v; return b }
	}
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:n] } }
	more := func(v ...byte) func([]byte) []byte { return func(b []byte) []byte { return append(b, v...) } }
	hello, accept := Packet{Kind: KindInit}, Packet{Kind: KindAccept, Sequence: 1}
	bye, ack, entity := Packet{Kind: KindDisconnect, Reason: []byte("bye")}, Packet{Kind: KindAck}, Packet{Kind: KindEntity}
	for _, tt := range []struct {
		name string
		from Side
		b    []byte
		want string
	}{
		{"an empty datagram", FromClient, nil, "packet type: 1 byte wanted at offset 0, 0 left"},
		{"no flags", FromClient, with(ack, FromClient, cut(1)), "flags: 1 byte wanted at offset 1, 0 left"},
		{"half a sequence", FromClient, with(ack, FromClient, cut(3)), "sequence: 2 bytes wanted at offset 2, 1 left"},
		{"a header cut short", FromClient, with(ack, FromClient, cut(11)), "timestamp: 8 bytes wanted at offset 4, 7 left"},
		{"an unknown type", FromServer, with(ack, FromServer, set(0, 3)), "packet type: no such type at offset 0"},
		{"a connection packet without its type", FromServer, with(accept, FromServer, cut(12)), "connection type: 1 byte wanted at offset 12, 0 left"},
		{"an unknown connection type", FromServer, with(accept, FromServer, set(12, 3)), "connection type: no such type at offset 12"},
		{"an init with a sequence", FromClient, with(hello, FromClient, set(3, 1)), "sequence: that of an init is 0 at offset 2"},
		{"an init from a server", FromServer, hello.AppendTo(FromServer, nil), "connection type: only a client asks for a connection at offset 12"},
		{"an init with more", FromClient, with(hello, FromClient, more(0)), "1 byte left over at offset 13"},
		{"an accept without its sequence", FromServer, with(accept, FromServer, set(2, 0)), "sequence: that of an accept is 1 at offset 2"},
		{"an accept from a client", FromClient, accept.AppendTo(FromClient, nil), "connection type: only a server accepts at offset 12"},
		{"an accept with more", FromServer, with(accept, FromServer, more(0, 0)), "2 bytes left over at offset 13"},
		{"a disconnect without a size", FromServer, with(bye, FromServer, cut(13)), "reason size: 1 byte wanted at offset 13, 0 left"},
		{"a reason past the end", FromServer, with(bye, FromServer, set(13, 5)), "reason: 5 bytes wanted at offset 14, 3 left"},
		{"a reason that ends early", FromServer, with(bye, FromServer, set(13, 1)), "2 bytes left over at offset 15"},
		{"a client with a reason", FromClient, bye.AppendTo(FromServer, nil), "reason size: a client gives no reason at offset 13"},
		{"a client with an empty reason", FromClient, with(bye, FromClient, more(0)), "reason size: a client gives no reason at offset 13"},
		{"an ack with a body", FromServer, with(ack, FromServer, more(0)), "1 byte left over at offset 12"},
		{"an entity from a client", FromClient, entity.AppendTo(FromServer, nil), "packet type: only a server sends entities at offset 0"},
		{"an entity that is only ordered", FromServer, with(entity, FromServer, set(1, 2)), "flags: ordered but not reliable at offset 1"},
		{"an entity with bit 2", FromServer, with(entity, FromServer, set(1, 5)), "flags: a bit above bit 1 is set at offset 1"},
		{"an entity with bit 7", FromServer, with(entity, FromServer, set(1, 0x80)), "flags: a bit above bit 1 is set at offset 1"},
		{"an entity with too much", FromServer, with(entity, FromServer, more(noise[:1189]...)), "data: size 1189 at offset 12, limit 1188"},
		{"an ack from nobody", 0, ack.AppendTo(0, nil), "packet type: the sender is unset at offset 0"},
		{"a disconnect from nobody", 0, bye.AppendTo(0, nil), "connection type: the sender is unset at offset 12"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Packet
			err := p.ParseErr(tt.from, tt.b)
			if err == nil || err.Error() != tt.want || p.Parse(tt.from, tt.b) {
				t.Errorf("%x: got %v, want %s", tt.b, err, tt.want)
			}
			if e := (*wire.Error)(nil); !errors.As(err, &e) {
				t.Errorf("%T is not a *wire.Error", err)
			}
		})
	}
}

// What breaks the rules becomes bytes that are refused, or loses only fields that such a
// packet does not have; it never becomes another packet.
func TestMistakesDoNotBecomeOtherPackets(t *testing.T) {
	r := kit.Rand(t)
	refused, total := 0, kit.Rounds(1_000_000, 10_000_000)
	var got Packet
	var b []byte
	for range total {
		from := FromClient + Side(r.IntN(2))
		p := Packet{Kind: KindInit + Kind(r.IntN(5)), Reliable: r.IntN(2) == 0, Ordered: r.IntN(2) == 0, Sequence: uint16(r.IntN(3))}
		if r.IntN(2) == 0 {
			p.Reason = randomBytes(r, 600)
		}
		if r.IntN(2) == 0 {
			p.Data = randomBytes(r, 1400)
		}
		if b = p.AppendTo(from, b[:0]); p.Kind != KindEntity && b[1] != 0 {
			t.Fatalf("%x from a %v: flags are sent on a %v", b, from, p.Kind)
		}
		if !got.Parse(from, b) {
			refused++
			continue
		}
		if p.Kind != KindEntity {
			p.Reliable, p.Ordered, p.Data = false, false, nil
		}
		if p.Kind != KindDisconnect || from == FromClient {
			p.Reason = nil
		}
		if !same(&got, &p) {
			t.Fatalf("%x from a %v\ngot  %+v\nwant %+v", b, from, got, p)
		}
	}
	if refused < total/4 || refused > total*3/4 {
		t.Errorf("%d of %d refused: not a mix", refused, total)
	}
}

func TestAppendToKeepsWhatIsThere(t *testing.T) {
	for _, s := range shapes {
		var p Packet
		s.random(rand.New(rand.NewPCG(3, 4)), &p)
		alone := p.AppendTo(s.from, nil)
		if got := p.AppendTo(s.from, []byte("before")); string(got) != "before"+string(alone) {
			t.Errorf("%s: got %x behind %x", s.name, got, alone)
		}
	}
}

func TestAppendToWantsAKind(t *testing.T) {
	for _, kind := range []Kind{0, KindEntity + 1, 255} {
		func() {
			defer func() {
				if got := recover(); got == nil || !strings.HasPrefix(got.(string), "stamp: ") {
					t.Errorf("kind %d: recovered %v", kind, got)
				}
			}()
			(&Packet{Kind: kind}).AppendTo(FromServer, nil)
		}()
	}
}

// A caller may append to what it was given without harm to the datagram behind it.
func TestReasonHasNoRoomBehindIt(t *testing.T) {
	var p Packet
	b := (&Packet{Kind: KindDisconnect, Reason: []byte("bye")}).AppendTo(FromServer, make([]byte, 0, 64))
	if !p.Parse(FromServer, b) || cap(p.Reason) != 3 || &p.Reason[0] != &b[14] {
		t.Errorf("reason %q with room for %d", p.Reason, cap(p.Reason))
	}
}

// As in replica, bad bytes in a reason are replaced: the packet is accepted as it is.
func TestReasonText(t *testing.T) {
	for _, tt := range []struct{ name, reason, want string }{
		{"none", "", ""},
		{"plain", "server full", "server full"},
		{"more than ASCII", "zu spät 🚀", "zu spät 🚀"},
		{"one bad byte", "a\xffb", "a\uFFFDb"},
		{"each bad byte", "\xff\xfe\xfd", "\uFFFD\uFFFD\uFFFD"},
		{"a rune cut short", "x\xe2\x82", "x\uFFFD\uFFFD"},
		{"an encoded surrogate", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
		{"NUL and line ends", "a\x00b\r\n", "a\x00b\r\n"},
		{"a replacement that was sent", "\uFFFD", "\uFFFD"},
	} {
		var p Packet
		b := (&Packet{Kind: KindDisconnect, Reason: []byte(tt.reason)}).AppendTo(FromServer, nil)
		if !p.Parse(FromServer, b) || string(p.Reason) != tt.reason || p.ReasonText() != tt.want {
			t.Errorf("%s: got %q of %q, want %q", tt.name, p.ReasonText(), p.Reason, tt.want)
		}
	}
}

// T7: stamp has no float on the wire. A change of that must meet a rule on NaN.
func TestPacketHasNoFloats(t *testing.T) {
	promise.Keeps(t, "T7", "stamp", 1)
	for _, v := range []any{Packet{}, Record{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			if k := f.Type.Kind(); k == reflect.Float32 || k == reflect.Float64 {
				t.Errorf("%T.%s is a float: which values are refused?", v, f.Name)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for side, want := range map[Side]string{0: "unset", FromClient: "client", FromServer: "server", 3: "unset"} {
		if got := side.String(); got != want {
			t.Errorf("Side(%d) is %q, want %q", uint8(side), got, want)
		}
	}
	for kind, want := range map[Kind]string{0: "unset", KindInit: "connect.init", KindAccept: "connect.accept",
		KindDisconnect: "connect.disconnect", KindAck: "ack", KindEntity: "entity", 6: "unset", 255: "unset"} {
		if got := kind.String(); got != want {
			t.Errorf("Kind(%d) is %q, want %q", uint8(kind), got, want)
		}
	}
}
