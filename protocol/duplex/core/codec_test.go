package core

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/wire"
)

// noise is data for tests.
var noise = func() (b [MaxMessage + 10]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}()

// shape is a kind of message as one side may send it.
type shape struct {
	kind Kind
	from Side
	on   Channel
}

// shapes are all that the forms allow.
var shapes = func() (all []shape) {
	for kind := KindUpdate; kind <= KindReply; kind++ {
		for _, from := range []Side{FromClient, FromServer} {
			for _, on := range []Channel{Main, Feed} {
				if forms[kind].sides&from != 0 && forms[kind].channels&on != 0 {
					all = append(all, shape{kind, from, on})
				}
			}
		}
	}
	return all
}()

// random returns a message of a shape, mostly a small one.
func (s shape) random(r *rand.Rand) Message {
	m := Message{Kind: s.kind}
	room := 0
	switch s.kind {
	case KindUpdate, KindSync:
		m.Code, m.SID, room = CodeUpdate+uint8(s.kind-KindUpdate), int16(r.Uint32()), MaxData
	case KindConnInitRep, KindFeedInit:
		m.Code, m.Player, m.Token = CodeConnInitRep+uint8(s.kind-KindConnInitRep), int16(r.Uint32()), int32(r.Uint32())
	case KindFeedInitRep:
		m.Code, m.Token = CodeFeedInitRep, int32(r.Uint32())
	case KindSignal:
		m.Code = uint8(CodeConnInit + r.IntN(LastSignal-CodeConnInit+1))
	case KindQuery:
		m.Code, room = uint8(FirstQuery+r.IntN(64)), MaxQueryData
	case KindReply:
		m.Code, m.Status, room = uint8(FirstQuery+ReplyOffset+r.IntN(64)), uint8(r.Uint32()), MaxReplyData
	}
	if room > 0 {
		n := r.IntN(40)
		if r.IntN(1000) == 0 {
			n = room - r.IntN(2)
		}
		at := r.IntN(len(noise) - n)
		m.Data = noise[at : at+n]
	}
	return m
}

func equal(a, b Message) bool {
	data := bytes.Equal(a.Data, b.Data)
	a.Data, b.Data = nil, nil
	return data && a.Kind == b.Kind && a.Code == b.Code && a.SID == b.SID && a.Player == b.Player && a.Token == b.Token && a.Status == b.Status
}

// T1: what is written is read again, and what is read is written as it came.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	r := kit.Rand(t)
	var buf []byte
	for range promise.Keeps(t, "T1", "duplex", kit.Rounds(1_000_000, 10_000_000)) {
		s := shapes[r.IntN(len(shapes))]
		m := s.random(r)
		d := Datagram{Sequence: 1 + r.Int64N(1<<62), Message: m}
		var got Datagram
		if s.on == Feed {
			if buf = d.AppendTo(buf[:0]); !got.Parse(s.from, buf) || got.Sequence != d.Sequence {
				t.Fatalf("%+v as %x reads as %+v", d, buf, got)
			}
		} else if buf = m.AppendTo(buf[:0]); !got.Message.Parse(s.from, Main, buf) {
			t.Fatalf("%+v as %x is refused", m, buf)
		}
		if !equal(got.Message, m) {
			t.Fatalf("%+v as %x reads as %+v", m, buf, got)
		}
		again := got.Message.AppendTo(nil)
		if s.on == Feed {
			again = got.AppendTo(nil)
		}
		if !bytes.Equal(again, buf) {
			t.Fatalf("%x is written as %x", buf, again)
		}
	}
}

// T2: no strict prefix of a fixed message passes, nor one with a byte more; of one with data,
// none that ends before the data.
func TestPrefixesAndTails(t *testing.T) {
	r := kit.Rand(t)
	heads := map[Kind]int{KindUpdate: 3, KindSync: 3, KindQuery: 1, KindReply: 2}
	for _, s := range shapes {
		for range promise.Keeps(t, "T2", "duplex", kit.Rounds(20_000, 100_000)) {
			m := s.random(r)
			b := m.AppendTo(nil)
			head, open := heads[s.kind]
			if !open {
				head = len(b)
			}
			for n := range head {
				if new(Message).Parse(s.from, s.on, b[:n]) {
					t.Fatalf("%d of %x pass", n, b)
				}
			}
			if !open && new(Message).Parse(s.from, s.on, append(b, 0)) {
				t.Fatalf("%x and a byte pass", b)
			}
			if len(b) > 100 {
				break
			}
		}
		long := s.random(r)
		if _, open := heads[s.kind]; open {
			long.Data = noise[:MaxMessage-heads[s.kind]+1]
			b := long.AppendTo(nil)
			if len(b) != MaxMessage+1 || new(Message).Parse(s.from, s.on, b) || !new(Message).Parse(s.from, s.on, b[:MaxMessage]) {
				t.Errorf("%v of %d bytes passes, or one of %d does not", s.kind, len(b), MaxMessage)
			}
		}
	}
	d := Datagram{Sequence: 5, Message: Message{Kind: KindSignal, Code: 14}}
	b := d.AppendTo(nil)
	for n := range b {
		if new(Datagram).Parse(FromClient, b[:n]) {
			t.Errorf("%x passes", b[:n])
		}
	}
}

// T3, T5: no bytes make it panic; what it accepts it writes as it came.
func TestRandomBytes(t *testing.T) {
	promise.Keeps(t, "T5", "duplex", kit.Rounds(10_000_000, 100_000_000))
	r := rand.New(rand.NewPCG(3, 5))
	var valid [][]byte
	for range 50 {
		for _, s := range shapes {
			d := Datagram{Sequence: 1, Message: s.random(r)}
			d.Data = d.Data[:min(len(d.Data), 100)]
			valid = append(valid, d.bytes(s.on))
		}
	}
	var d Datagram
	out := make([]byte, 0, 200)
	kit.RandomBytes(t, "duplex", valid, HeaderBytes+3, func(in []byte, _ uint64) (accepted int) {
		for _, from := range []Side{FromClient, FromServer} {
			switch {
			case d.Parse(from, in):
				out = d.AppendTo(out[:0])
			case d.Message.Parse(from, Main, in):
				out = d.Message.AppendTo(out[:0])
			case d.Kind != 0:
				t.Fatalf("%x is refused, and is a %v", in, d.Kind)
			default:
				continue
			}
			if accepted = 1; !bytes.Equal(out, in) {
				t.Fatalf("%x is written as %x", in, out)
			}
		}
		return accepted
	})
}

// bytes is what goes on a channel: on main, the message alone.
func (d *Datagram) bytes(on Channel) []byte {
	if on == Feed {
		return d.AppendTo(nil)
	}
	return d.Message.AppendTo(nil)
}

// What is refused is refused by name and offset.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		from       Side
		on         Channel
		b          []byte
	}{
		{"nothing", "code: 1 byte wanted at offset 0, 0 left", FromClient, Main, nil},
		{"code 0", "code: no message has this code at offset 0", FromClient, Main, []byte{0}},
		{"code 128", "code: no message has this code at offset 0", FromClient, Main, []byte{128}},
		{"code 191", "code: no message has this code at offset 0", FromClient, Main, []byte{191}},
		{"no side", "code: the sender is unset at offset 0", 0, Main, []byte{6}},
		{"no channel", "code: the channel is unset at offset 0", FromClient, 0, []byte{6}},
		{"a feed_init on main", "code: a feed_init goes on feed at offset 0", FromClient, Main, []byte{4, 0, 1, 0, 0, 0, 1}},
		{"a signal with a body", "1 byte left over at offset 1", FromClient, Main, []byte{6, 0}},
		{"half a SID", "SID: 2 bytes wanted at offset 1, 1 left", FromServer, Main, []byte{2, 0}},
		{"half a token", "token: 4 bytes wanted at offset 3, 1 left", FromServer, Main, []byte{3, 0, 1, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m Message
			err := m.ParseErr(tt.from, tt.on, tt.b)
			var e *wire.Error
			if !errors.As(err, &e) || err.Error() != tt.want || m.Kind != 0 || m.Parse(tt.from, tt.on, tt.b) {
				t.Errorf("%x: %v, want %s", tt.b, err, tt.want)
			}
		})
	}
}

func TestAppendToWithoutAKindPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it does not")
		}
	}()
	new(Message).AppendTo(nil)
}
