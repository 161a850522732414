package replica

import (
	"errors"
	"testing"

	"parley/internal/patient"
	"parley/protocol/replica/core"
)

// A client that is refused for its pass has the server's words as its error. One that is let in is linked, and the server learns when it
// has the token, and that it said goodbye.
func TestPassesOfClients(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		told := make(chan Event, 10)
		s := at.serve(t, Config{}, func(c *Conn, ev Event) {
			switch {
			case ev.Kind == EventMessage && string(ev.Data) != "Rmain":
				c.Close("ticket is not valid")
			case ev.Kind == EventLinked:
				if err := c.SendTagged("parley.session", []byte("token"), 9); err != nil {
					t.Error(err)
				}
			case ev.Kind == EventAcked:
				told <- ev
			case ev.Kind == EventClosed && ev.Close.Reason == core.ReasonPeer:
				told <- ev
			}
		})
		if err := s.Do(func() {
			if _, err := s.Store().AddVariable("v", core.DataInt); err != nil {
				t.Error(err)
			}
		}); err != nil {
			t.Fatal(err)
		}
		bad := at.connect(t, s, Config{Pass: []byte("Tforged")})
		_ = bad.Link() // it may be over already
		var last Event
		for ev := range bad.Events() {
			last = ev
		}
		var end Close
		if last.Kind != EventClosed || last.Close.Text != "ticket is not valid" || !errors.As(bad.Err(), &end) || end.Text != "ticket is not valid" {
			t.Errorf("the client was told %+v, %v", last, bad.Err())
		}
		good := at.connect(t, s, Config{Pass: []byte("Rmain")})
		if err := good.Link(); err != nil {
			t.Fatal(err)
		}
		if ev := patient.Value(told); ev.Kind != EventAcked || ev.Tag != 9 {
			t.Errorf("told %+v", ev)
		}
		if err := good.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if ev := patient.Value(told); !ev.Goodbye {
			t.Errorf("told %+v", ev)
		}
		if _, err := at.tryDial(t.Context(), t, s.Addr(), Config{Pass: make([]byte, core.MaxPassBytes+1)}); err == nil {
			t.Error("a pass that is too large is taken")
		}
	})
}
