package replica

import (
	"sync"
	"testing"

	"parley/internal/patient"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
)

// Who asks a server for its counters again and again, while clients come and go and the server closes, sees
// none fall.
func TestTheCountersOfAServerNeverFall(t *testing.T) {
	at := kernel(udp.Config{})
	s := at.serve(t, Config{}, echo(t))
	asked := make(chan int)
	begun := make(chan struct{})
	for range 2 {
		go func() {
			var last ServerStats
			n := 0
			for over := false; !over; n++ {
				select {
				case <-s.Done():
					over = true // and once more
				default:
				}
				st := s.Stats()
				if err := shelltest.Falls(last, st); err != nil {
					t.Error(err)
				}
				if last = st; n == 0 {
					begun <- struct{}{}
				}
			}
			asked <- n
		}()
	}
	for range 2 {
		patient.Value(begun)
	}
	var clients sync.WaitGroup
	for i := range 30 {
		clients.Go(func() {
			if err := talk(t, at, s, i); err != nil {
				t.Error(err)
			}
		})
	}
	patient.Done(clients.Wait)
	s.Close()
	if a, b := patient.Value(asked), patient.Value(asked); a < 2 || b < 2 {
		t.Errorf("%d and %d times asked", a, b)
	}
	if st := s.Stats(); st.Conns != 0 || st.Mux.Opened != 30 || st.Mux.Ended != 30 || st.Traffic.Reliable.Delivered < 30*20 {
		t.Errorf("in the end they are %+v", st)
	}
}

// A server has room for all that a turn of its loop brings, however small the messages are. What it refused would come again a
// round trip later, with all behind it.
func TestASenderAtFullSpeedIsNotRefused(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		const messages = 40_000
		got := 0
		all := make(chan struct{})
		s := at.serve(t, Config{}, func(_ *Conn, ev Event) {
			if ev.Kind != EventMessage {
				return
			}
			if got++; got == messages {
				close(all)
			}
		})
		x := at.connect(t, s, Config{})
		for range messages {
			if err := x.SendWait(t.Context(), Ordered, "", []byte{1}); err != nil {
				t.Fatal(err)
			}
		}
		patient.Value(all)
		if n := s.Stats().Traffic.Reliable.Refused; n != 0 {
			t.Errorf("%d packets were refused", n)
		}
	})
}
