package queue

import (
	"math/rand/v2"
	"testing"

	"parley/internal/lend"
)

// A queue that is never quite empty does not grow with what has passed through it.
func TestAQueueStaysAsLongAsWhatWaits(t *testing.T) {
	var q Fifo[int]
	next := 0
	for i := range 100_000 {
		q.Push(i)
		if q.Len() > 10 {
			if got := q.Pop(); got != next {
				t.Fatalf("%d came where %d was due", got, next)
			}
			next++
		}
	}
	if cap(q.list) > 64 {
		t.Errorf("10 wait in the room of %d", cap(q.list))
	}
}

func TestALongQueueIsLetGoOfOnceEmpty(t *testing.T) {
	var q Fifo[int]
	for i := range 1000 {
		q.Push(i)
	}
	for q.Len() > 0 {
		q.Pop()
	}
	if q.Trim(); q.list != nil {
		t.Errorf("an empty queue holds room for %d", cap(q.list))
	}
}

// What is long in every tick does not take its memory anew each time, and what no longer is
// lets go of it after a while.
func TestAQueueThatIsLongAgainAndAgainKeepsItsRoom(t *testing.T) {
	var q Fifo[int]
	tick := func(n int) {
		for i := range n {
			q.Push(i)
		}
		for q.Len() > 0 {
			q.Pop()
			q.Trim()
		}
	}
	if n := testing.AllocsPerRun(100, func() { tick(100) }); n != 0 {
		t.Errorf("%v allocations a tick of 100", n)
	}
	for range 1024 {
		tick(1)
	}
	if cap(q.list) != 0 {
		t.Errorf("a queue of one holds room for %d", cap(q.list))
	}
}

func TestAQueueAgreesWithAModel(t *testing.T) {
	const seed = 1
	t.Logf("seed=%d", seed)
	rng := rand.New(rand.NewPCG(seed, seed))
	var lender lend.Buffers
	var q Packets
	var model []byte
	held := 0
	for range 100_000 {
		if rng.IntN(200) < 100-len(model)+50*rng.IntN(2) {
			b := lender.Take(1 + rng.IntN(100))
			b[0] = byte(rng.Uint32())
			model = append(model, b[0])
			held += cap(b) + PacketOverhead
			q.Put(b)
		} else if len(model) > 0 {
			first := q.First()
			if first[0] != model[0] {
				t.Fatalf("%d came where %d was due", first[0], model[0])
			}
			held -= cap(first) + PacketOverhead
			q.Drop(&lender)
			model = model[1:]
		}
		if q.Len() != len(model) || q.Held() != held {
			t.Fatalf("%d wait in %d bytes, want %d in %d", q.Len(), q.Held(), len(model), held)
		}
	}
	if q.Clear(&lender); q.Len() != 0 || q.Held() != 0 {
		t.Errorf("%d in %d bytes wait after all were cleared", q.Len(), q.Held())
	}
}

func TestTheOldestPacketIsMovedOut(t *testing.T) {
	var lender lend.Buffers
	var q Packets
	var buf [8]byte
	if _, ok := q.MoveTo(buf[:], &lender); ok {
		t.Error("an empty queue had a packet")
	}
	for _, text := range []string{"one", "two"} {
		q.Put(append(lender.Take(3)[:0], text...))
	}
	if n, ok := q.MoveTo(buf[:], &lender); !ok || string(buf[:n]) != "one" {
		t.Errorf("%q came first", buf[:n])
	}
	if q.Len() != 1 {
		t.Errorf("%d wait, want 1", q.Len())
	}
}
