package relay

import (
	"errors"
	"testing"

	"parley/internal/datagram"
	"parley/internal/shell/shelltest"
)

// Participants exchange packages over any carriers, and a server does not know what brings its datagrams.
func TestPlaysBesideTheSocket(t *testing.T) {
	shelltest.Beside(t, func(t *testing.T, server datagram.Carrier, clients []datagram.Carrier) {
		noPort := func() (datagram.Carrier, error) { return nil, errors.New("one port is enough") }
		s := serve(server, noPort, Config{}, nil)
		defer s.Close()
		var all []*Client
		for _, carrier := range clients {
			x, err := dial(t.Context(), carrier, Config{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close(t.Context())
			all = append(all, x)
		}
		for i, x := range all {
			for mode := Unreliable; mode <= SemiOrdered; mode++ {
				if err := x.Send(mode, ToOthers, []byte("hello")); err != nil {
					t.Fatal(err)
				}
				for j, y := range all {
					if i != j {
						wantPackage(t, y, mode, false, "hello")
					}
				}
			}
		}
	})
}
