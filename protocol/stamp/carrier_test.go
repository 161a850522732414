package stamp

import (
	"testing"

	"parley/internal/datagram"
	"parley/internal/shell/shelltest"
)

// A client plays over any carrier, and a server does not know what brings its datagrams.
func TestPlaysBesideTheSocket(t *testing.T) {
	shelltest.Beside(t, func(t *testing.T, server datagram.Carrier, clients []datagram.Carrier) {
		s := serve(server, Config{}, welcome(t, Ordered, "one", "two"))
		defer s.Close()
		for _, carrier := range clients {
			x, err := dial(t.Context(), carrier, Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close(t.Context())
			wantEntity(t, x, Ordered, []byte("one"))
			wantEntity(t, x, Ordered, []byte("two"))
		}
		if got := s.Stats().Conns; got != len(clients) {
			t.Errorf("%d connections, want %d", got, len(clients))
		}
	})
}

// welcome sends these to each client that connects.
func welcome(t testing.TB, mode Mode, packets ...string) func(*Conn, Event) {
	return func(c *Conn, ev Event) {
		if ev.Kind != EventConnected {
			return
		}
		for _, p := range packets {
			if err := c.Send(mode, []byte(p)); err != nil {
				t.Errorf("send: %v", err)
			}
		}
	}
}
