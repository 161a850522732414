package connector

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/wire"
)

// T1: what is written is read again, and what is read is written as it came. One message of
// a set reads all, so that what stays of the one before would show.
func TestMessagesRoundTrip(t *testing.T) {
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			r := kit.Rand(t)
			m, got := s.make(), s.make()
			var b, again []byte
			for range promise.Keeps(t, "T1", "connector", kit.Rounds(1_000_000, 10_000_000)) {
				s.random(r, m)
				b = m.AppendTo(b[:0])
				msgs := Read(b)
				if !msgs.Next(got) || !reflect.DeepEqual(m, got) || msgs.Next(got) || msgs.Err() != nil {
					t.Fatalf("%x\ngot  %+v: %v\nwant %+v", b, got, msgs.Err(), m)
				}
				if again = got.AppendTo(append(again[:0], "behind"...)); string(again) != "behind"+string(b) {
					t.Fatalf("read  %x\nwrote %x", b, again)
				}
			}
		})
	}
}

// T2: nothing that ends early is read, and what follows a message is another or is refused.
func TestEveryPrefixIsRefused(t *testing.T) {
	for _, s := range sets {
		t.Run(s.name, func(t *testing.T) {
			r := kit.Rand(t)
			m, got := s.make(), s.make()
			var b []byte
			for range promise.Keeps(t, "T2", "connector", kit.Rounds(100_000, 1_000_000)) {
				s.random(r, m)
				b = m.AppendTo(b[:0])
				for n := 1; n < len(b); n++ {
					if isSequence(b[:n:n], got) {
						t.Fatalf("%x: its first %d bytes are accepted as %+v", b, n, got)
					}
				}
				b = append(b, byte(r.Uint32()))
				if _, want := oracleAll(&s, b); isSequence(b, got) != want {
					t.Fatalf("%x: accepted with a byte more: %t", b, !want)
				}
			}
		})
	}
}

// T3: random bytes, half of them from valid messages with something changed. Nothing panics or
// allocates, the oracle says the same of each, and what is accepted is written as it came. All are
// read as what players write to each other, and as one of the six sets in turn.
func TestRandomBytes(t *testing.T) {
	r := kit.Rand(t)
	valid, ms := make([][]byte, 60), make([]Message, len(sets))
	for i := range ms {
		ms[i] = sets[i].make()
	}
	for i := range valid {
		for range 1 + i%5 {
			sets[i%6].random(r, ms[i%6])
			valid[i] = ms[i%6].AppendTo(valid[i])
		}
	}
	const peer = 4
	out := make([]byte, 0, 2*MaxPayload)
	kit.RandomBytes(t, "connector", valid, 12, func(in []byte, v uint64) (accepted int) {
		for _, k := range [2]uint64{v % 6, peer} {
			msgs, n := Read(in), 0
			for out = out[:0]; msgs.Next(ms[k]); n++ {
				out = ms[k].AppendTo(out)
			}
			want, ok := oracleAll(&sets[k], in)
			if msgs.OK() != ok || n != want || !bytes.HasPrefix(in, out) || ok && len(in) != len(out) {
				t.Fatalf("%s %x: %d messages, %t; want %d, %t\nwrote %x", sets[k].name, in, n, msgs.OK(), want, ok, out)
			}
			if ok && k == v%6 {
				accepted = 1
			}
		}
		return accepted
	})
}

// T5: each number that a message carries, at the ends of its type and of each form, in its
// shortest form and in the longer ones: only the shortest is read, and only within its limit.
func TestLyingNumbers(t *testing.T) {
	promise.Keeps(t, "T5", "connector", 1)
	floats := func(n int) []byte { return make([]byte, 4*n) }
	for _, tt := range []struct {
		name          string
		m             Message
		before, after []byte
		least, most   uint64
	}{
		{"a variant to main", new(ToMain), nil, []byte{7}, 0, 1},
		{"a ping to main", new(ToMain), []byte{0}, nil, 0, math.MaxUint32},
		{"max players", new(ToMain), []byte{1}, nil, 0, 255},
		{"a pong from main", new(FromMain), []byte{0}, nil, 0, math.MaxUint32},
		{"a port", new(FromMain), []byte{1}, nil, 0, math.MaxUint16},
		{"an open error", new(FromMain), []byte{2}, nil, 0, 0},
		{"a ping to a game", new(ToGame), []byte{0}, nil, 0, math.MaxUint32},
		{"a readiness", new(ToGame), []byte{3}, nil, 0, 3},
		{"a variant from a game", new(FromGame), nil, []byte{0}, 0, 7},
		{"a player that joined", new(FromGame), []byte{2}, nil, 0, 255},
		{"a join error", new(FromGame), []byte{3}, nil, 0, 3},
		{"a peer that left", new(FromGame), []byte{6}, nil, 0, 255},
		{"a readiness of a game", new(FromGame), []byte{7}, nil, 0, 3},
		{"an entity's player", new(Peer), []byte{2}, []byte{0}, 0, 255},
		{"an entity's index", new(Peer), []byte{2, 0}, nil, 0, math.MaxUint32},
		{"a spawn's player", new(Peer), []byte{1, 0, 0}, append([]byte{0, 0}, floats(7)...), 0, 255},
		{"a class", new(Peer), []byte{1, 0, 0, 0}, append([]byte{0}, floats(7)...), 0, math.MaxUint32},
		{"a type", new(Peer), []byte{1, 0, 0, 0, 0}, floats(7), 0, math.MaxUint32},
		{"whether there is a path", new(Peer), []byte{3, 0, 0}, []byte{0}, 1, 1},
		{"a projectile's variant", new(Peer), []byte{6}, floats(6), 0, 0},
		{"a sender", new(Relayed), nil, []byte{2, 0, 0}, 0, 255},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range []uint64{0, 1, 2, 3, 4, 6, 7, 8, 249, 250, 251, 254, 255, 256, 1 << 15, 1<<16 - 1, 1 << 16,
				1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 63, math.MaxUint64} {
				for i, form := range forms(v) {
					b := append(append(bytes.Clone(tt.before), form...), tt.after...)
					want := i == 0 && tt.least <= v && v <= tt.most
					if strings.HasPrefix(tt.name, "a variant") {
						// Whether what follows fits depends on the variant.
						_, ok := oracleAll(setOf(tt.m), b)
						want = ok
						if ok && v > tt.most {
							t.Fatalf("the oracle takes %x", b)
						}
					}
					if got := isSequence(b, tt.m); got != want {
						t.Errorf("%x with %d: accepted %t, want %t", b, v, got, want)
					}
				}
			}
			for _, marker := range []byte{254, 255} {
				b := append(append(bytes.Clone(tt.before), marker), make([]byte, 64)...)
				if isSequence(b, tt.m) {
					t.Errorf("%x: accepted with the marker %d", b, marker)
				}
			}
		})
	}
}

// forms returns a number in its shortest form and in all longer ones.
func forms(v uint64) (list [][]byte) {
	if v < 251 {
		list = append(list, []byte{byte(v)})
	}
	if v < 1<<16 {
		list = append(list, binary.BigEndian.AppendUint16([]byte{251}, uint16(v)))
	}
	if v < 1<<32 {
		list = append(list, binary.BigEndian.AppendUint32([]byte{252}, uint32(v)))
	}
	return append(list, binary.BigEndian.AppendUint64([]byte{253}, v))
}

func setOf(m Message) *set {
	switch m.(type) {
	case *ToMain:
		return &sets[0]
	case *FromMain:
		return &sets[1]
	case *ToGame:
		return &sets[2]
	case *FromGame:
		return &sets[3]
	case *Peer:
		return &sets[4]
	}
	return &sets[5]
}

// T5: each size of a text and each count of a path against each that they can have.
func TestEverySizeAndCount(t *testing.T) {
	promise.Keeps(t, "T5", "connector", 1)
	var m Peer
	body := bytes.Repeat([]byte{'a'}, 300)
	for size := range 300 {
		for n := range 300 {
			b := append(appendUint([]byte{0}, uint64(size)), body[:n]...)
			if got, want := isSequence(b, &m), size == n && 1 <= n && n <= MaxText; got != want {
				t.Fatalf("size %d with %d bytes: accepted %t, want %t", size, n, got, want)
			}
		}
	}
	points := make([]byte, 100*pointBytes)
	for _, count := range []uint64{0, 1, 2, 59, 60, 61, 99, 250, 251, 1 << 16, 1<<32 - 1, 1 << 32, 1 << 63, math.MaxUint64} {
		for n := range 100 {
			b := append(appendUint([]byte{3, 0, 0, 1}, count), points[:n*pointBytes]...)
			if got, want := isSequence(b, &m), count == uint64(n) && n <= MaxPoints; got != want {
				t.Fatalf("count %d with %d points: accepted %t, want %t", count, n, got, want)
			}
			if cap(m.Path) > 128 {
				t.Fatalf("count %d with %d points: room for %d was made", count, n, cap(m.Path))
			}
		}
	}
	m = Peer{Kind: PeerSetPath, Entity: Entity{255, math.MaxUint32}, Path: make([]Point, MaxPoints)}
	if n := len((&Relayed{From: 255, Peer: m}).AppendTo(nil)); n > MaxPayload {
		t.Errorf("the largest message has %d bytes and does not fit into a package", n)
	}
}

// T7: each float of each message, with each value that is none: refused, and named. All others
// pass as they are, to the bit.
func TestFloats(t *testing.T) {
	promise.Keeps(t, "T7", "connector", 1)
	for _, m := range []Peer{
		{Kind: PeerSpawn}, {Kind: PeerTransform}, {Kind: PeerChangeHealth}, {Kind: PeerProjectile},
		{Kind: PeerSetPath, Path: make([]Point, 3)},
	} {
		b := m.AppendTo(nil)
		count := map[PeerKind]int{PeerSpawn: 7, PeerTransform: 7, PeerChangeHealth: 1, PeerProjectile: 6, PeerSetPath: 6}[m.Kind]
		for i := range count {
			at := len(b) - 4*(count-i)
			for _, v := range []uint32{0x7fc00000, 0x7f800000, 0xff800000, 0x7f800001, 0xffffffff} {
				bad := bytes.Clone(b)
				binary.BigEndian.PutUint32(bad[at:], v)
				msgs := Read(bad)
				e := (*wire.Error)(nil)
				if msgs.Next(new(Peer)) || !errors.As(msgs.Err(), &e) || e.Cause != wire.CauseNotFinite || e.Offset != at {
					t.Errorf("%v with %#x at %d: %v", m.Kind, v, at, msgs.Err())
				}
			}
			for _, v := range []uint32{0x80000000, 1, 0x807fffff, 0x7f7fffff, 0xff7fffff} {
				good := bytes.Clone(b)
				binary.BigEndian.PutUint32(good[at:], v)
				var got Peer
				if msgs := Read(good); !msgs.Next(&got) || !bytes.Equal(got.AppendTo(nil), good) {
					t.Errorf("%v with %#x at %d: %v", m.Kind, v, at, msgs.Err())
				}
			}
		}
	}
}

// Every error is a *wire.Error, and says what is wrong where.
func TestErrorsNameFieldAndOffset(t *testing.T) {
	for _, tt := range []struct {
		name string
		m    Message
		b    []byte
		want string
	}{
		{"an unknown message", new(ToMain), []byte{2}, "messages[0].message: larger than its type or limit at offset 0"},
		{"a second one cut short", new(ToMain), []byte{0, 5, 1}, "messages[1].max players: 1 byte wanted at offset 3, 0 left"},
		{"half a number", new(ToMain), []byte{0, 251, 1}, "messages[0].ping: 2 bytes wanted at offset 2, 1 left"},
		{"a form too long", new(ToMain), []byte{0, 251, 0, 250}, "messages[0].ping: a number in a longer form than it needs at offset 1"},
		{"a form that is none", new(ToGame), []byte{1, 0, 254}, "messages[1].ping: no form of a number begins so at offset 2"},
		{"a readiness past the last", new(ToGame), []byte{3, 4}, "messages[0].readiness: larger than its type or limit at offset 1"},
		{"a port too large", new(FromMain), []byte{1, 252, 0, 1, 0, 0}, "messages[0].port: larger than its type or limit at offset 1"},
		{"an empty chat", new(Peer), []byte{0, 0}, "messages[0].text size: a chat without a text at offset 1"},
		{"a long chat", new(Peer), append([]byte{0, 141}, texts[140]...), "messages[0].text: size 141 at offset 2, limit 140"},
		{"a chat past the end", new(Peer), []byte{0, 3, 'a'}, "messages[0].text: 3 bytes wanted at offset 2, 1 left"},
		{"a chat that is no text", new(Peer), []byte{0, 3, 'a', 0xff, 'b'}, "messages[0].text: not UTF-8 at offset 3"},
		{"a path too long", new(Peer), []byte{3, 0, 0, 1, 61}, "messages[0].points: size 61 at offset 5, limit 60"},
		{"a path past the end", new(Peer), []byte{3, 0, 0, 1, 2, 0, 0}, "messages[0].points: 16 bytes wanted at offset 5, 2 left"},
		{"a path that is not a number", new(Peer), append([]byte{3, 0, 0, 1, 1}, 0x7f, 0x80, 0, 0, 0, 0, 0, 0),
			"messages[0].points[0].x: not a finite number at offset 5"},
		{"another projectile", new(Peer), []byte{6, 1}, "messages[0].projectile: larger than its type or limit at offset 1"},
		{"no message behind a sender", new(Relayed), []byte{3}, "messages[0].message: 1 byte wanted at offset 1, 0 left"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			msgs := Read(tt.b)
			for msgs.Next(tt.m) {
			}
			err, e := msgs.Err(), (*wire.Error)(nil)
			if err == nil || err.Error() != tt.want || !errors.As(err, &e) || msgs.OK() {
				t.Errorf("%x: got %v, want %s", tt.b, err, tt.want)
			}
		})
	}
}

// A walk that has failed stays at its end, with the kind unset.
func TestAWalkThatFailedIsOver(t *testing.T) {
	msgs, m := Read([]byte{1, 3, 9, 1}), ToGame{}
	if !msgs.Next(&m) || m.Kind != ToGameJoin || msgs.Offset() != 1 {
		t.Fatalf("got %+v at %d", m, msgs.Offset())
	}
	for range 3 {
		if msgs.Next(&m) || m.Kind != 0 || msgs.OK() {
			t.Fatalf("got %+v behind a failure", m)
		}
	}
}

func TestAppendToWantsAKind(t *testing.T) {
	for _, m := range []Message{
		&ToMain{}, &ToMain{Kind: 3}, &FromMain{}, &FromMain{Kind: 4}, &FromMain{Kind: FromMainOpenError}, &ToGame{}, &ToGame{Kind: 5},
		&FromGame{}, &FromGame{Kind: 9}, &FromGame{Kind: FromGameJoinError}, &Peer{}, &Peer{Kind: 8}, &Relayed{},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, "connector: ") {
					t.Errorf("%+v: recovered %q", m, got)
				}
			}()
			m.AppendTo(nil)
		}()
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{ToMainOpen.String(), "OpenGame"}, {ToMainKind(9).String(), "unset"}, {FromMainOpenError.String(), "GameOpenError"},
		{OpenDifferentGame.String(), "DifferentGame"}, {OpenError(0).String(), "unset"}, {ToGameReadiness.String(), "Readiness"},
		{FromGameReadiness.String(), "GameReadiness"}, {FromGameKind(9).String(), "unset"}, {JoinDifferentGame.String(), "DifferentGame"},
		{JoinGameFull.String(), "GameFull"}, {NotReady.String(), "NotReady"}, {Initialized.String(), "Initialized"}, {Readiness(4).String(), "unset"},
		{PeerProjectile.String(), "Projectile"}, {PeerKind(8).String(), "unset"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

// isSequence reports whether a payload is a sequence of messages of m's type and nothing else. It uses m to read them.
func isSequence(payload []byte, m Message) bool {
	s := Read(payload)
	for s.Next(m) {
	}
	return s.OK()
}
