package core

import (
	"testing"
	"time"

	"parley/internal/kit"
)

// Names that begin with "parley." are kept apart from a game's, both ways.
func TestReservedNames(t *testing.T) {
	w, x, c := connected(t, 1, Config{}, kit.Lan())
	var got []string
	w.onEvent = func(_ time.Time, _ *Conn, ev Event) {
		if ev.Kind == EventMessage {
			got = append(got, string(ev.Name))
		}
	}
	now := x.host.Now()
	for _, tt := range []struct {
		name string
		want error
	}{{"parley.pass", nil}, {"parley.gone", ErrName}, {"chat", ErrName}, {"parley.\xff", ErrName}} {
		if err := x.SendReserved(now, Ordered, tt.name, []byte("x")); err != tt.want {
			t.Errorf("%q: %v, want %v", tt.name, err, tt.want)
		}
	}
	x.host.Poke()
	if err := c.SendReserved(Ordered, "parley.you", []byte{1, 0, 2}); err != nil {
		t.Fatal(err)
	}
	w.server.Poke()
	w.Until("both came", time.Second, func() bool { return len(got) == 1 && len(x.events) == 2 })
	if got[0] != "parley.pass" || x.events[1] != "parley.you=\"\\x01\\x00\\x02\"" {
		t.Errorf("the server got %q, the client %q", got, x.events)
	}
}
