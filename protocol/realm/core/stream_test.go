package core

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"parley/internal/kit"
)

// decode gives pieces to a stream and says what came of them, as text.
func decode(from Side, limit int, pieces ...[]byte) (said []string) {
	s := NewStream(testCodec, from)
	s.limit(limit)
	var m Message
	for _, p := range pieces {
		for len(p) > 0 && s.Err() == nil {
			n, ok := s.Next(p, &m)
			p = p[n:]
			if ok {
				said = append(said, fmt.Sprintf("%x", testCodec.AppendTo(nil, &m)))
			}
		}
	}
	if err := s.Err(); err != nil {
		return append(said, err.Error())
	}
	return append(said, fmt.Sprintf("%d held", s.Held()))
}

// randomStream returns bytes that are, or begin as, messages of one side.
func randomStream(r *rand.Rand, from Side, messages int) []byte {
	var b []byte
	for range messages {
		kind := KindPing + Kind(r.IntN(22))
		if kind.Senders()&from != 0 {
			m := randomMessage(r, kind)
			b = testCodec.AppendTo(b, &m)
		}
	}
	switch r.IntN(4) {
	case 0:
		if len(b) > 0 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	case 1:
		b = b[:r.IntN(len(b)+1)]
	}
	return b
}

// Every way of cutting a stream decodes alike: all cuts in two, bytes one by one, and random
// pieces.
func TestEveryCutDecodesAlike(t *testing.T) {
	r := kit.Rand(t)
	for range kit.Rounds(2000, 20_000) {
		from := FromClient << r.IntN(2)
		limit := MaxMessage
		if r.IntN(4) == 0 {
			limit = 8 + r.IntN(40)
		}
		b := randomStream(r, from, 1+r.IntN(6))
		kit.Cuts(t, r, b, 1, func(pieces ...[]byte) string { return strings.Join(decode(from, limit, pieces...), "\n") })
	}
}

// What a stream says of a message is what Parse says of its bytes.
func TestStreamsAgreeWithParse(t *testing.T) {
	r := kit.Rand(t)
	var m Message
	for range kit.Rounds(50_000, 1_000_000) {
		from := FromClient << r.IntN(2)
		b := randomStream(r, from, 2)
		for rest := b; len(rest) > 0; {
			s := NewStream(testCodec, from)
			n, ok := s.Next(rest, &m)
			if size, whole := oracle(from, rest); ok != whole || ok && n != size {
				t.Fatalf("%x from a %v: %d bytes, %t; the oracle has %d, %t", rest, from, n, ok, size, whole)
			}
			if !ok {
				break
			}
			rest = rest[n:]
		}
	}
}

// A message of 1 MiB passes, one of a byte more does not, and neither costs more because it
// comes byte by byte: each byte is judged once.
func TestLongMessagesComeByteByByte(t *testing.T) {
	var e Entity
	e.Has = HasObject
	pair := Attribute{100, U8(1)} // 3 bytes
	e.Attributes, _ = testCodec.Attributes(slices.Repeat([]Attribute{pair}, MaxListed)...)
	update := Message{Kind: KindEntityUpdate, Entity: e}
	b := testCodec.AppendTo(nil, &update)
	s := NewStream(testCodec, FromClient)
	var m Message
	for i := range b {
		if _, ok := s.Next(b[i:i+1], &m); ok != (i == len(b)-1) {
			t.Fatalf("byte %d of %d: %t, %v", i, len(b), ok, s.Err())
		}
	}
	if m.Entity.Attributes.Len() != MaxListed {
		t.Error(m.Entity.Attributes.Len())
	}

	cells, _ := MakeCells(make([]Cell, MaxListed)...)
	chunk := Chunk{Cells: cells}
	var list []Chunk
	size := 5
	for size+chunkHead+len(cells.raw) <= MaxMessage {
		list = append(list, chunk)
		size += chunkHead + len(cells.raw)
	}
	fit := MaxMessage - size
	for fit > 0 { // fill up to the last byte with empty chunks and a small one
		n := (fit - chunkHead) / cellBytes
		if fit < 2*chunkHead+cellBytes {
			break
		}
		n = min(n, 1000)
		some, _ := MakeCells(make([]Cell, n)...)
		list = append(list, Chunk{Cells: some})
		fit -= chunkHead + n*cellBytes
	}
	chunks, _ := MakeChunks(list...)
	b = testCodec.AppendTo(b[:0], &Message{Kind: KindChunksUpdate, Chunks: chunks})
	if len(b) > MaxMessage || len(b) < MaxMessage-2*chunkHead-cellBytes {
		t.Fatal(len(b))
	}
	if got := decode(FromServer, MaxMessage, b); len(got) != 2 {
		t.Errorf("a message of %d bytes: %.100q", len(b), got[0])
	}
	list = append(list, Chunk{}, Chunk{}, Chunk{})
	chunks, _ = MakeChunks(list...)
	b = testCodec.AppendTo(b[:0], &Message{Kind: KindChunksUpdate, Chunks: chunks})
	for _, pieces := range [][][]byte{{b}, {b[:1000], b[1000:]}, {b[:MaxMessage], b[MaxMessage:]}} {
		if got := decode(FromServer, MaxMessage, pieces...); len(got) != 1 || !strings.Contains(got[0], "than a message may") {
			t.Errorf("a message of %d bytes: %.100q", len(b), got)
		}
	}
	if testCodec.Parse(FromServer, b, &m) {
		t.Error("a message over the limit was parsed")
	}
}

// A stream holds no more than the message that is being read, and nothing when it has come.
func TestStreamsHoldLittle(t *testing.T) {
	s := NewStream(testCodec, FromClient)
	var m Message
	b := testCodec.AppendTo(nil, &Message{Kind: KindChatSend, Text: bytes.Repeat([]byte("x"), 5000)})
	many := bytes.Repeat(b, 10)
	for len(many) > 0 {
		n, _ := s.Next(many[:min(1500, len(many))], &m)
		many = many[n:]
		if s.Held() > len(b) || cap(s.held) > 4*len(b) && cap(s.held) != 65536 {
			t.Fatalf("%d held in %d", s.Held(), cap(s.held))
		}
	}
	if s.Held() != 0 {
		t.Errorf("%d held", s.Held())
	}
}
