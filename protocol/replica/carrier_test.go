package replica

import (
	"testing"

	"parley/internal/datagram"
	"parley/internal/shell/shelltest"
)

// A client plays over any carrier, and a server does not know what brings its datagrams.
func TestPlaysBesideTheSocket(t *testing.T) {
	shelltest.Beside(t, func(t *testing.T, server datagram.Carrier, clients []datagram.Carrier) {
		s := serve(server, Config{}, echo(t))
		defer s.Close()
		for _, carrier := range clients {
			x, err := dial(t.Context(), carrier, Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close(t.Context())
			for _, mode := range []Mode{Unreliable, Reliable, Ordered} {
				if err := x.Send(mode, "echo", []byte("hello")); err != nil {
					t.Fatal(err)
				}
				for ev := range x.Events() {
					if ev.Kind != EventMessage || string(ev.Data) != "hello" {
						t.Errorf("%v: got %v %q", mode, ev.Kind, ev.Data)
					}
					break
				}
			}
		}
		if got := s.Stats().Conns; got != len(clients) {
			t.Errorf("%d connections, want %d", got, len(clients))
		}
	})
}
