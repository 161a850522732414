package core

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"parley/internal/kit"
	"parley/internal/lend"
	"parley/internal/promise"
)

// readAll gives a stream bytes in pieces, and returns what it read: each message as bytes behind its size, and the words of
// the error.
func readAll(s *Stream, pieces ...[]byte) string {
	var got []byte
	for _, piece := range pieces {
		for len(piece) > 0 {
			var m Message
			n, ok := s.Next(piece, &m)
			piece = piece[n:]
			if ok {
				got = m.AppendTo(binary.BigEndian.AppendUint16(got, uint16(len(m.Data))))
			}
			if s.Err() != nil {
				return string(append(got, s.Err().Error()...))
			}
			if n == 0 && !ok && len(piece) > 0 {
				panic("a stream takes nothing and says nothing")
			}
		}
	}
	return string(got)
}

// gameStream returns a stream of a server's messages. To make a schema ready takes longer
// than to read them.
func gameStream() *Stream {
	return &Stream{rules: gameRules, from: FromServer, lender: new(lend.Buffers)}
}

var gameRules = gameSchema.compile()

// transcript is a server's bytes that have every kind of message and every kind of size.
func transcript(r *rand.Rand, messages int) (b []byte) {
	add := func(m Message) { b = m.AppendTo(b) }
	for range messages {
		switch r.IntN(10) {
		case 0:
			add(Message{Kind: KindConnInitRep, Player: int16(r.Uint32()), Token: int32(r.Uint32())})
		case 1:
			add(Message{Kind: KindSignal, Code: []uint8{CodeSyncStart, CodeSyncEnd, 14, 63}[r.IntN(4)]})
		case 2:
			add(Message{Kind: KindSync, SID: int16(r.Uint32()) | 1<<3, Data: gone})
		case 3:
			add(Message{Kind: KindSync, SID: 7, Data: valueOf(r.Uint64())})
		case 4:
			n := r.IntN(256)
			add(Message{Kind: KindSync, SID: 9, Data: append([]byte{2, byte(n)}, noise[:n]...)})
		case 5:
			n := r.IntN(700)
			add(Message{Kind: KindSync, SID: -1, Data: append([]byte{byte(n >> 8), byte(n)}, noise[:n]...)})
		case 6:
			n := r.IntN(256)
			add(Message{Kind: KindQuery, Code: 64, Data: append([]byte{byte(n)}, noise[:n]...)})
		case 7:
			add(Message{Kind: KindQuery, Code: 66})
		case 8:
			add(Message{Kind: KindReply, Code: 65 + ReplyOffset, Data: noise[:4]})
		case 9:
			add(Message{Kind: KindReply, Code: 65 + ReplyOffset, Status: 1 + uint8(r.IntN(255)), Data: noise[:1]})
		}
	}
	return b
}

// The messages are the same for every place in which the bytes are cut in two, and for 10,000
// random ways to cut them.
func TestAStreamReadsAlikeHoweverItIsCut(t *testing.T) {
	t.Parallel()
	r := kit.Rand(t)
	ends := map[string][]byte{
		"a whole message": nil, "half a message": {CodeSync, 0}, "an unknown code": {0}, "an update": {CodeUpdate, 0, 7},
		"a kind that is none": {CodeSync, 0, 7, 3}, "an unknown query": {100}, "an unknown signal": {20}, "a client's message": {CodeFeedInit},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			b := transcript(r, 50)
			if s := gameStream(); len(readAll(s, b)) != len(b)+2*50 || s.Err() != nil {
				t.Fatalf("50 messages: %v", s.Err())
			}
			kit.Cuts(t, r, append(b, end...), kit.Rounds(10_000, 100_000)/len(ends), func(pieces ...[]byte) string { return readAll(gameStream(), pieces...) })
		})
	}
}

// T5: numbers that lie about sizes are refused, or cost no more than what has come.
func TestAStreamHoldsNoMoreThanCame(t *testing.T) {
	promise.Keeps(t, "T5", "duplex", 1)
	schema := &Schema{FromServer: Elements{Others: Counted(4)}}
	for _, size := range []uint32{0, 1, MaxData - 5, MaxData - 4, MaxData - 3, 1 << 15, 1<<16 - 1, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		s := NewStream(schema, FromServer)
		var m Message
		b := []byte{CodeSync, 0, 1, byte(size >> 24), byte(size >> 16), byte(size >> 8), byte(size)}
		n, ok := s.Next(b, &m)
		switch {
		case size == 0:
			if !ok || n != 7 {
				t.Errorf("size 0: %d, %t", n, ok)
			}
		case size <= MaxData-4:
			if ok || s.Err() != nil || s.Held() != 7 || cap(s.held) > 64 {
				t.Errorf("size %d: %t, %v, %d bytes held in %d", size, ok, s.Err(), s.Held(), cap(s.held))
			}
		default:
			if !errors.Is(s.Err(), ErrSize) {
				t.Errorf("size %d: %v", size, s.Err())
			}
		}
	}
	// The longest message, byte by byte.
	s := NewStream(schema, FromServer)
	long := Message{Kind: KindSync, SID: 1, Data: append([]byte{0, 0, 0xff, 0xf8}, noise[:0xfff8]...)}
	b := long.AppendTo(nil)
	for i := range b {
		var m Message
		n, ok := s.Next(b[i:i+1], &m)
		if n != 1 || ok != (i == len(b)-1) || cap(s.held) > 65536 {
			t.Fatalf("byte %d of %d: %d, %t, %v", i, len(b), n, ok, s.Err())
		}
		if ok && !equal(m, Message{Kind: KindSync, Code: CodeSync, SID: 1, Data: long.Data}) {
			t.Error("it reads as something else")
		}
	}
}

// A function that goes wrong is refused, and never asked without end.
func TestGrowingFunctionsThatGoWrong(t *testing.T) {
	calls := 0
	for _, tt := range []struct {
		name string
		next func(data []byte) int
		want error
	}{
		{"one that wants less than it has", func(data []byte) int { return 5 - len(data) }, ErrSize},
		{"one that refuses", func([]byte) int { return -1 }, ErrSize},
		{"one that wants a byte at a time", func(data []byte) int { calls++; return len(data) + 1 }, ErrSize},
		{"one that wants too much", func([]byte) int { return MaxData + 1 }, ErrSize},
		{"one that writes to what it is given", func(data []byte) int { _ = append(data, 1, 2, 3); return 4 }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := NewStream(&Schema{FromServer: Elements{Others: Growing(tt.next)}}, FromServer)
			got := readAll(s, append([]byte{CodeSync, 0, 0}, make([]byte, 3000)...))
			if tt.want == nil {
				if !strings.HasPrefix(got, "\x00\x04\x02\x00\x00\x00\x00\x00\x00") {
					t.Errorf("it reads as %q", got)
				}
				return
			}
			if !errors.Is(s.Err(), tt.want) {
				t.Errorf("it reads as %q", got)
			}
		})
	}
	if calls > maxSizeSteps+1 {
		t.Errorf("a function was asked %d times", calls)
	}
}

func TestSizes(t *testing.T) {
	mixed := Sequence(Fixed(2), Counted(1), Counted(2), Kinds(map[uint8]Size{5: Fixed(1), 6: Sequence(Fixed(1), Counted(1))}))
	for _, tt := range []struct {
		name string
		size Size
		data string
		ok   bool
	}{
		{"fixed", Fixed(3), "abc", true},
		{"fixed, short", Fixed(3), "ab", false},
		{"fixed, long", Fixed(3), "abcd", false},
		{"none", Size{}, "", true},
		{"none, long", Size{}, "a", false},
		{"negative", Fixed(-1), "", false},
		{"counted", Counted(2), "\x00\x03abc", true},
		{"counted, empty", Counted(1), "\x00", true},
		{"counted, short", Counted(1), "\x04abc", false},
		{"counted, no count", Counted(4), "\x00\x00\x00", false},
		{"a sequence of fixed ones", Sequence(Fixed(1), Fixed(2)), "abc", true},
		{"an empty sequence", Sequence(), "", true},
		{"gone", Kinds(nil), "\x00", true},
		{"gone with data", Kinds(nil), "\x00a", false},
		{"an unknown kind", Kinds(nil), "\x01", false},
		{"mixed", mixed, "ab\x01c\x00\x02de\x06f\x02gh", true},
		{"mixed with nothing in it", mixed, "ab\x00\x00\x00\x00", true},
		{"mixed, short", mixed, "ab\x01c\x00\x02de\x06f\x02g", false},
		{"mixed, long", mixed, "ab\x01c\x00\x02de\x05fg", false},
		{"mixed, bad", mixed, "ab\x01c\x00\x02de\x07", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.size.is([]byte(tt.data), MaxData); got != tt.ok {
				t.Errorf("%q: %t, want %t", tt.data, got, tt.ok)
			}
		})
	}
}

func TestSchemaChecks(t *testing.T) {
	for _, tt := range []struct {
		name string
		from Side
		m    Message
		want error
	}{
		{"an element", FromServer, Message{Kind: KindUpdate, SID: 5, Data: valueOf(1)}, nil},
		{"an element of another size", FromClient, Message{Kind: KindUpdate, SID: 5, Data: valueOf(1)}, ErrSize},
		{"a signal", FromClient, Message{Kind: KindSignal, Code: 14}, nil},
		{"a signal of the dialect", FromClient, Message{Kind: KindSignal, Code: CodeSyncReq}, nil},
		{"an unknown signal", FromClient, Message{Kind: KindSignal, Code: 15}, ErrCode},
		{"a query", FromClient, Message{Kind: KindQuery, Code: 66}, nil},
		{"an unknown query", FromClient, Message{Kind: KindQuery, Code: 68}, ErrCode},
		{"a query with too much", FromClient, Message{Kind: KindQuery, Code: 66, Data: gone}, ErrSize},
		{"a reply", FromClient, Message{Kind: KindReply, Code: 65 + ReplyOffset, Data: noise[:4]}, nil},
		{"a failure", FromClient, Message{Kind: KindReply, Code: 65 + ReplyOffset, Status: 1, Data: noise[:1]}, nil},
		{"a failure with the data of success", FromClient, Message{Kind: KindReply, Code: 65 + ReplyOffset, Status: 1, Data: noise[:4]}, ErrSize},
		{"an unknown reply", FromClient, Message{Kind: KindReply, Code: 255}, ErrCode},
	} {
		if err := gameSchema.Check(tt.from, &tt.m); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	var empty *Schema
	if err := empty.Check(FromServer, &Message{Kind: KindSync, SID: 1}); !errors.Is(err, ErrSID) {
		t.Errorf("an element without a schema: %v", err)
	}
	for _, bad := range []Schema{{Signals: []uint8{13}}, {Signals: []uint8{64}}, {Queries: map[uint8]Query{63: {}}}, {Queries: map[uint8]Query{128: {}}}} {
		func() {
			defer func() {
				if text, ok := recover().(string); !ok || !strings.HasPrefix(text, "duplex: the schema has a ") {
					t.Errorf("%+v passes", bad)
				}
			}()
			bad.compile()
		}()
	}
}
