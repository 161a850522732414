package replica

import (
	"sync"
	"testing"
	"testing/synctest"

	"parley/internal/patient"
)

// A message that is larger than the queue's bytes passes, alone.
func TestAMessageLargerThanTheQueuePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{}, echo(t))
		x := at.connect(t, s, Config{})
		big := make([]byte, 1<<20)
		for range 5 {
			if err := x.Send(Ordered, "big", big); err != nil {
				t.Fatal(err)
			}
			wantMessage(t, x, "big", big)
		}
		if _, n := x.shell.Queued(); n != 0 {
			t.Errorf("%d bytes are counted in an empty queue", n)
		}
	})
}

func TestCloseWhileSending(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		s := at.serve(t, Config{}, nil)
		x := at.connect(t, s, Config{})
		var wg sync.WaitGroup
		busy := make(chan struct{}, 8)
		for i := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					err := x.Send(Mode(i%3), "n", make([]byte, 100))
					if n == 20 {
						busy <- struct{}{}
					}
					if err == ErrClosed {
						return
					}
					if err != nil && err != ErrWindowFull {
						t.Errorf("send: %v", err)
						return
					}
				}
			})
		}
		for range 8 {
			patient.Value(busy)
		}
		if err := x.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		patient.Done(wg.Wait)
		if err := x.Send(Ordered, "late", nil); err != ErrClosed {
			t.Errorf("send after close: %v", err)
		}
		if err := x.Do(func(*Values) { t.Error("ran") }); err != ErrClosed {
			t.Errorf("Do after close: %v", err)
		}
	})
}
