package shell

import (
	"math/rand/v2"
	"sync"
	"testing"

	"parley/internal/patient"
)

// A loop that sleeps when there is no room, and readers of which one wakes it: nothing is
// lost or comes twice, the bounds hold at every moment, and no wake is missed, which would
// hang.
func TestInboxAgainstManyReaders(t *testing.T) {
	const readers = 4
	n := 100_000
	if testing.Short() {
		n = 20_000
	}
	for _, tt := range []struct {
		name    string
		largest int
	}{{"small events", 100}, {"large events", 20_000}, {"some that fill it alone", 2 * MaxQueuedEventBytes}} {
		t.Run(tt.name, func(t *testing.T) {
			size := func(ev int) int { return ev * 7919 % tt.largest }
			b := newInbox(size)
			woken, done := make(chan struct{}, 1), make(chan struct{})
			wake := func() {
				select {
				case woken <- struct{}{}:
				default:
				}
			}
			var wg sync.WaitGroup
			seen := make([][]int, readers)
			for r := range readers {
				wg.Go(func() {
					dice := rand.New(rand.NewPCG(1, uint64(r)))
					for ev, ok := b.next(done, wake); ok; ev, ok = b.next(done, wake) {
						seen[r] = append(seen[r], ev)
						for range dice.IntN(20) { // some are slow
							b.queued()
						}
					}
				})
			}
			for i := range n {
				for !b.hasRoom() {
					patient.Value(woken)
				}
				if b.put(i); i%7 == 0 { // a turn is over
					b.show()
				}
				if n, bytes := b.queued(); bytes >= MaxQueuedEventBytes+int64(tt.largest) || n > MaxQueuedEvents {
					t.Fatalf("%d events of %d bytes are queued", n, bytes)
				}
			}
			b.show()
			close(done)
			patient.Done(wg.Wait)
			count := make([]int, n)
			for r := range seen {
				last := -1
				for _, ev := range seen[r] {
					count[ev]++
					if ev <= last {
						t.Fatalf("reader %d got %d after %d", r, ev, last)
					}
					last = ev
				}
			}
			for ev, c := range count {
				if c != 1 {
					t.Fatalf("event %d was read %d times", ev, c)
				}
			}
			if n, bytes := b.queued(); n != 0 || bytes != 0 {
				t.Errorf("%d events of %d bytes are counted in an empty queue", n, bytes)
			}
		})
	}
}
