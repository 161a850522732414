package stamp

import (
	"math/rand/v2"
	"testing"

	"parley/internal/reliable"
)

// A queue that is never quite empty does not grow with what has passed through it.
func TestAQueueStaysAsLongAsWhatWaits(t *testing.T) {
	var q fifo[int]
	next := 0
	for i := range 100_000 {
		q.push(i)
		if q.len() > 10 {
			if got := q.pop(); got != next {
				t.Fatalf("%d came where %d was due", got, next)
			}
			next++
		}
	}
	if cap(q.list) > 64 {
		t.Errorf("10 wait in the room of %d", cap(q.list))
	}
}

func TestAQueueAgreesWithAModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var lender reliable.Buffers
	var q packets
	var model []byte
	for range 100_000 {
		if rng.IntN(200) < 100-len(model)+50*rng.IntN(2) {
			b := lender.Take(1 + rng.IntN(100))
			b[0] = byte(rng.Uint32())
			model = append(model, b[0])
			q.put(b)
		} else if len(model) > 0 {
			if (*q.first())[0] != model[0] {
				t.Fatalf("%d came where %d was due", (*q.first())[0], model[0])
			}
			q.drop(&lender)
			model = model[1:]
		}
		if q.len() != len(model) || (q.bytes == 0) != (len(model) == 0) {
			t.Fatalf("%d wait with %d bytes, want %d", q.len(), q.bytes, len(model))
		}
	}
	if q.clear(&lender); q.len() != 0 || q.bytes != 0 {
		t.Errorf("%d of %d bytes wait after all were cleared", q.len(), q.bytes)
	}
}
