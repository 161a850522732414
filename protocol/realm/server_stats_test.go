package realm

import (
	"context"
	"testing"

	"parley/internal/patient"
	"parley/internal/shell/shelltest"
)

// Who asks a server for its counters again and again, while clients come and go and the server closes, sees
// none fall.
func TestTheCountersOfAServerNeverFall(t *testing.T) {
	p := newPlace(t, Config{})
	asked := make(chan int)
	go func() {
		var last ServerStats
		n := 0
		for over := false; !over; n++ {
			select {
			case <-p.server.Done():
				over = true // and once more
			default:
			}
			st := p.server.Stats()
			if err := shelltest.Falls(last, st); err != nil {
				t.Error(err)
			}
			last = st
		}
		asked <- n
	}()
	for range 5 {
		p.join("ann").Close(context.Background())
		patient.Until(t, "it is gone", func() bool { return p.accounts.sessions() == 0 && p.server.Stats().Mux.Players == 0 })
	}
	p.join("ann") // whom the server leaves
	p.server.Close()
	if n := patient.Value(asked); n < 2 {
		t.Errorf("%d times asked", n)
	}
	if st := p.server.Stats(); st.Mux.Entered != 6 || st.Mux.Accepted != st.Mux.Ended || st.Traffic.In < 6*2 || st.Traffic.Check() != nil {
		t.Errorf("in the end they are %+v", st)
	}
}
