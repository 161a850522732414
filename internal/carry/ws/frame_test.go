package ws

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
)

// heard is what a connection hears: whole messages, pings, and how it ends.
type heard struct {
	messages [][]byte
	pings    [][]byte
	closed   bool
	err      error
}

// hear has a reader take bytes, which are cut where cut says: it is given how many are left, and returns how many come next.
func hear(t testing.TB, all []byte, cut func(left int) int) (h heard) {
	var f frames
	var message []byte
	all = bytes.Clone(all) // next overwrites them
	for len(all) > 0 {
		b := all[:cut(len(all))]
		all = all[len(b):]
		for len(b) > 0 {
			p, n, err := f.next(b)
			if h.err = err; err != nil {
				return h
			}
			if n <= 0 || n > len(b) {
				t.Fatalf("next took %d of %d bytes", n, len(b))
			}
			b = b[n:]
			switch p.kind {
			case pieceData:
				if message = append(message, p.b...); len(message) > maxMessage {
					t.Fatalf("a message of %d bytes", len(message))
				}
				if p.last {
					h.messages = append(h.messages, message)
					message = nil
				}
			case piecePing:
				h.pings = append(h.pings, bytes.Clone(p.b))
			case pieceClose:
				h.closed = true
				return h
			}
			if p.kind >= piecePing && len(p.b) > maxControl {
				t.Fatalf("a control frame of %d bytes", len(p.b))
			}
		}
	}
	return h
}

// same reports whether two connections heard the same.
func (h heard) same(o heard) bool {
	equal := func(a, b [][]byte) bool {
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			if !bytes.Equal(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return equal(h.messages, o.messages) && equal(h.pings, o.pings) && h.closed == o.closed && h.err == o.err
}

// clientFrame appends a frame as a client sends it, written from RFC 6455, section 5.2.
func clientFrame(b []byte, rng *rand.Rand, op byte, fin bool, payload []byte) []byte {
	first := op
	if fin {
		first |= 0x80
	}
	switch n := len(payload); {
	case n <= 125:
		b = append(b, first, 0x80|byte(n))
	case n <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, first, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, first, 0x80|127), uint64(n))
	}
	var key [4]byte
	binary.BigEndian.PutUint32(key[:], rng.Uint32())
	b = append(b, key[:]...)
	for i, x := range payload {
		b = append(b, x^key[i%4])
	}
	return b
}

func noise(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// Whatever a client sends comes whole, in any frames, with pings between them, however the network cuts it.
func TestFramesRoundTrip(t *testing.T) {
	rounds := promise.Keeps(t, "T75", "frames", promise.Tier(300, 100_000, 1_000_000))
	kit.Seeds(t, 1, func(t *testing.T, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 75))
		for round := range rounds {
			var want heard
			var b []byte
			for range 1 + rng.IntN(4) {
				size := rng.IntN(300)
				if rng.IntN(100) == 0 {
					size = rng.IntN(maxMessage + 1)
				}
				message := noise(rng, size)
				want.messages = append(want.messages, message)
				for rest, op := message, byte(2); ; op = 0 {
					n := len(rest)
					if rng.IntN(3) == 0 {
						n = rng.IntN(len(rest) + 1)
					}
					last := n == len(rest) && rng.IntN(4) > 0
					b = clientFrame(b, rng, op, last, rest[:n])
					if rest = rest[n:]; last {
						break
					}
					if rng.IntN(3) == 0 {
						ping := noise(rng, rng.IntN(126))
						b = clientFrame(b, rng, 9, true, ping)
						want.pings = append(want.pings, ping)
					}
				}
			}
			if rng.IntN(2) == 0 {
				b = clientFrame(b, rng, 8, true, []byte{3, 232})
				want.closed = true
			}
			step := 1 + rng.IntN(2000)
			if got := hear(t, b, func(left int) int { return min(left, 1+rng.IntN(step)) }); !got.same(want) {
				t.Fatalf("round %d: %d messages, %d pings, closed %v, %v; want %d, %d, %v", round, len(got.messages), len(got.pings),
					got.closed, got.err, len(want.messages), len(want.pings), want.closed)
			}
		}
	})
}

// What a connection hears does not depend on how the network cuts the bytes, whatever they are, and it is never more than was sent.
func FuzzFrames(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 75))
	f.Add(clientFrame(nil, rng, 2, true, []byte("hello")), uint8(1))
	f.Add(clientFrame(clientFrame(clientFrame(nil, rng, 2, false, []byte("he")), rng, 9, true, []byte("ping")), rng, 0, true, []byte("llo")), uint8(3))
	f.Add(clientFrame(nil, rng, 8, true, []byte{3, 232}), uint8(2))
	f.Add(clientFrame(nil, rng, 2, true, make([]byte, 300)), uint8(7))
	f.Add(frame(0x82, 0xff, []byte{0, 0, 0, 0, 0, 1, 0, 1}, ""), uint8(1))
	f.Add(frame(0x81, 0x80, nil, ""), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, step uint8) {
		whole := hear(t, b, func(left int) int { return left })
		cut := hear(t, b, func(left int) int { return min(left, 1+int(step)) })
		if !whole.same(cut) {
			t.Fatalf("whole %+v, cut into pieces of %d bytes %+v", whole, 1+int(step), cut)
		}
		sum := 0
		for _, m := range append(whole.messages, whole.pings...) {
			sum += len(m)
		}
		if sum > len(b) {
			t.Fatalf("%d bytes bring %d", len(b), sum)
		}
	})
}
