package turns

import (
	"sync"
	"testing"

	"parley/internal/patient"
)

// Visitors from many goroutines, with the last turn in the middle: each is alone, comes only when
// what the last had to say is done, and what it has to say is done by a turn, or by itself.
func TestATurnFollowsEachVisit(t *testing.T) {
	for _, doneAtOnce := range []bool{false, true} {
		var o Owner
		inside, asked, done := 0, 0, 0 // of who is at the core
		wake := make(chan bool, 1)
		alone := func() {
			if inside++; inside != 1 {
				t.Error("two are at the core")
			}
			inside--
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := 0; ; i++ {
					if !o.Visit(func() bool {
						alone()
						if asked != done {
							t.Error("a visitor came before what the last had to say was done")
						}
						if asked++; doneAtOnce {
							done = asked
						}
						return doneAtOnce
					}) {
						return
					}
					select {
					case wake <- i == 200:
					default:
						if i == 200 {
							wake <- true
						}
					}
				}
			})
		}
		for last := false; !last; {
			last = patient.Value(wake)
			o.Begin(last)
			alone()
			done = asked
			o.End()
		}
		gone := make(chan struct{})
		go func() {
			wg.Wait()
			close(gone)
		}()
		end := patient.End()
		for left := false; !left; { // the other three may be about to say that theirs was the last, too, however late
			select {
			case <-wake:
			case <-gone:
				left = true
			}
		}
		end.Stop()
		if asked == 0 || done != asked {
			t.Errorf("of %d visits, %d were done", asked, done)
		}
		if o.Visit(func() bool { t.Error("ran"); return true }) {
			t.Error("somebody came after the last turn")
		}
	}
}
