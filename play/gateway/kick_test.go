package gateway

import (
	"strings"
	"testing"

	realmcore "parley/protocol/realm/core"
	"parley/protocol/relay"
)

// Over each dialect who is kicked is told why, by the goodbye or, where that has no words, in a line of chat; and so is
// everybody when the server closes.
func TestWhoHasToGoIsToldWhy(t *testing.T) {
	for _, tt := range []struct {
		name   string
		join   func(t *testing.T, h *Hub) (told func() string)
		kicked string
		closed string
	}{
		{"replica", func(t *testing.T, h *Hub) func() string {
			d, err := NewReplica(h, ReplicaConfig{Addr: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			return byError(playReplica(t, d).Err)
		}, "go away", closingLine},
		{"relay", func(t *testing.T, h *Hub) func() string {
			d, err := NewRelay(h, RelayConfig{Addr: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			p := playRelay(t, d)
			if err := p.Send(relay.Unordered, relay.ToServer, make([]byte, 9)); err != nil {
				t.Fatal(err)
			}
			return byChat(p.Err, func() (said []string) {
				p.is(func() bool { said = p.said; return true })
				return said
			})
		}, "server: go away", "server: " + closingLine},
		{"duplex", func(t *testing.T, h *Hub) func() string {
			d, err := NewDuplex(h, DuplexConfig{Addr: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			p := playDuplex(t, h, d)
			return byChat(p.Err, func() (said []string) {
				p.is(func() bool { said = p.said; return true })
				return said
			})
		}, "server: go away", "server: " + closingLine},
		{"realm", func(t *testing.T, h *Hub) func() string {
			p := playRealm(t, h, plainRealm(t, h, nil), "ann")
			go p.Login(t.Context(), "ann", "") // it is answered when the hub has run
			return byError(p.Err)
		}, realmcore.ExitClientKicked.String(), realmcore.ExitServerClosed.String()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			enter := func() (h *Hub, told func() string) {
				h = newArena(t)
				told = tt.join(t, h)
				t.Cleanup(func() { h.Shutdown(t.Context()) })
				until(t, h, "it is in", func() bool { return len(h.players) == 1 })
				until(t, h, "its entity is there", func() bool { return h.sim.Wire(h.entityOf(h.Players()[0])) != 0 })
				ticks(t, h, 5)
				if told() != "" {
					t.Fatalf("it is out already: %v", told())
				}
				return h, told
			}
			h, told := enter()
			if !h.Kick(h.Players()[0].ID, "go away") {
				t.Fatal("it is not there")
			}
			until(t, h, "it is out, and reads "+tt.kicked, func() bool { return len(h.players) == 0 && strings.Contains(told(), tt.kicked) })
			h, told = enter()
			if err := h.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			waitFor(t, func() {}, "it is out, and reads "+tt.closed, func() bool { return strings.Contains(told(), tt.closed) })
		})
	}
}

// byError is what the end of a connection says.
func byError(end func() error) (told func() string) {
	return func() string {
		if end() == nil {
			return ""
		}
		return end().Error()
	}
}

// byChat is what was said before the end of a connection.
func byChat(end func() error, said func() []string) (told func() string) {
	return func() string {
		if end() == nil {
			return ""
		}
		return strings.Join(append(said(), "and "+end().Error()), ", ")
	}
}
