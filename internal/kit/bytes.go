package kit

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"parley/internal/promise"
)

// Noise is random bytes that are always the same.
var Noise = func() (b [1 << 16]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}()

// Mutate changes a few bytes of b, most often of the first head ones, or its length.
func Mutate(b []byte, head, v uint64) []byte {
	next := func() uint64 {
		v = v*6364136223846793005 + 1442695040888963407
		return v >> 32
	}
	for range next() % 4 {
		at := next() % head
		if at == head-1 {
			at = next()
		}
		b[at%uint64(len(b))] ^= 1 << (next() % 8)
	}
	switch next() % 16 {
	case 0:
		b = b[:next()%uint64(len(b))]
	case 1:
		b = append(b, byte(next()))
	case 2:
		b[0] = byte(next() % 4)
	case 3:
		b[min(head-4, uint64(len(b)-1))] = byte(next() % 4)
	}
	return b
}

// RandomBytes is T3: random bytes, half of them from valid packets with something changed. try reads a packet, holds what
// it reads against the law (canonical, as the oracle says) and returns in how many ways it was accepted. Nothing
// panics, and nothing is allocated. Valid packets are not empty; head is how many of their first bytes are changed most.
func RandomBytes(t *testing.T, part string, valid [][]byte, head int, try func(in []byte, v uint64) (accepted int)) {
	r := Rand(t)
	most := 0
	for _, b := range valid {
		most = max(most, len(b))
	}
	in := make([]byte, 0, max(most, 64)+1)
	accepted, total := 0, promise.Keeps(t, "T3", part, Rounds(10_000_000, 100_000_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range total {
		v := r.Uint64()
		if i%2 == 0 {
			at := int(v >> 8 % uint64(len(Noise)-64))
			in = append(in[:0], Noise[at:at+int(v%64)]...)
		} else {
			in = Mutate(append(in[:0], valid[v%uint64(len(valid))]...), uint64(head), v)
		}
		accepted += try(in, v)
	}
	runtime.ReadMemStats(&after)
	if accepted < total/10 || accepted > total*9/10 {
		t.Errorf("%d of %d accepted: the inputs are not a mix of good and bad", accepted, total)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes allocated, want a constant few", got)
	}
}
