package kit

import (
	"math/rand/v2"
	"testing"
)

// Cuts checks that a stream reads alike however it is cut: at each place, byte by byte, and in some random ways. read says
// what came of the pieces.
func Cuts(t testing.TB, r *rand.Rand, b []byte, ways int, read func(pieces ...[]byte) string) {
	t.Helper()
	want := read(b)
	check := func(pieces ...[]byte) {
		t.Helper()
		if got := read(pieces...); got != want {
			t.Fatalf("%x in pieces %x\ngot  %q\nwant %q", b, pieces, got, want)
		}
	}
	for i := range b {
		check(b[:i], b[i:])
	}
	for way := range ways + 1 {
		most := 1 // the first way is byte by byte
		if way > 0 {
			most += r.IntN(min(200, len(b)+1))
		}
		var pieces [][]byte
		for rest := b; len(rest) > 0; {
			n := 1 + r.IntN(min(most, len(rest)))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		check(pieces...)
	}
}
