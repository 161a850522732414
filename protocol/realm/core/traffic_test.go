package core

import (
	"io"
	"testing"

	"parley/internal/kit"
	"parley/internal/shell/shelltest"
)

// What the connections of a server did is counted together, those included that are over: no counter falls
// while they come and go, and each is the sum of them all at any time.
func TestTrafficNeverFalls(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{Terrain: &flatland{}})
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
