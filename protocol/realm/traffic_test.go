package realm

import (
	"context"
	"io"
	"testing"

	"parley/internal/patient"
	"parley/internal/shell/shelltest"
)

// What the connections of a server did is counted together, those included that are over: no counter falls
// while they come and go, and each is the sum of them all at any time.
func TestTrafficNeverFalls(t *testing.T) {
	w := newTown(t, newRand(t), Config{Terrain: &flatland{}})
	w.max = 64
	var conns []*Conn
	var last Stats
	check := func() {
		t.Helper()
		var want Stats
		for _, c := range conns {
			st := c.Stats()
			sums.Add(&want, &st)
		}
		got := w.mux.Traffic()
		if err := shelltest.Falls(last, got); err != nil {
			t.Fatal(err)
		}
		if got != want || got.Check() != nil {
			t.Fatalf("%+v, but its %d connections have %+v", got, len(conns), want)
		}
		last = got
	}
	drive := func() {
		for w.step() {
			check()
		}
	}
	for range 10 {
		for range 10 {
			p := w.arrive(Config{})
			conns = append(conns, p.conn)
			if w.rand.IntN(2) == 0 {
				drive()
				p.client.Login(w.now, "ann", "password of ann")
			}
		}
		drive()
		w.mux.Say(1, []byte("hello"))
		for _, p := range w.people {
			switch w.rand.IntN(3) {
			case 0:
				p.client.Close(w.now, ExitClientQuit, "")
			case 1:
				w.mux.HandleEnd(w.now, p.conn, io.EOF)
			case 2:
				p.conn.Close(ExitClientKicked, "")
			}
			check()
		}
		drive()
		w.people = w.people[:0]
	}
	if w.mux.Len() != 0 || last.In == 0 || last.Out == 0 || last.OutBytes == 0 {
		t.Errorf("%d connections are left, %+v", w.mux.Len(), last)
	}
}

// Who asks a server for its counters again and again, while clients come and go and the server closes, sees
// none fall.
func TestTheCountersOfAServerNeverFall(t *testing.T) {
	p := newPlace(t, ServerConfig{})
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
		eventually(t, "it is gone", func() bool { return p.accounts.sessions() == 0 && p.server.Stats().Players == 0 })
	}
	p.join("ann") // whom the server leaves
	p.server.Close()
	if n := patient.Value(asked); n < 2 {
		t.Errorf("%d times asked", n)
	}
	if st := p.server.Stats(); st.Entered != 6 || st.Accepted != st.Ended || st.Traffic.In < 6*2 || st.Traffic.Check() != nil {
		t.Errorf("in the end they are %+v", st)
	}
}
