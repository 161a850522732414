package gateway

import (
	"strings"
	"testing"

	"parley/internal/patient"
	realmcore "parley/protocol/realm/core"
)

// Over each dialect who is kicked is told why, by the goodbye or, where that has no words, in a line of chat; and so is
// everybody when the server closes.
func TestWhoHasToGoIsToldWhy(t *testing.T) {
	for _, tt := range []struct {
		name           string
		open           func(h *Hub) listener
		kicked, closed string
	}{
		{"replica", func(h *Hub) listener { return must(NewReplica(h, ReplicaConfig{Addr: loopback})) }, "go away", closingLine},
		{"relay", func(h *Hub) listener { return must(NewRelay(h, RelayConfig{Addr: loopback})) }, "server: go away", "server: " + closingLine},
		{"duplex", func(h *Hub) listener { return must(NewDuplex(h, DuplexConfig{Addr: loopback})) }, "server: go away", "server: " + closingLine},
		{"realm", func(h *Hub) listener { return plainRealm(h, nil) }, realmcore.ExitClientKicked.String(), realmcore.ExitServerClosed.String()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			enter := func() (*Hub, *guest) {
				h := newArena(t, Config{})
				g := join(t, h, tt.open(h), nil)
				if g.told() != "" {
					t.Fatalf("it is out already: %v", g.told())
				}
				return h, g
			}
			h, g := enter()
			if !h.main.Kick(h.main.Players()[0].ID, "go away") {
				t.Fatal("it is not there")
			}
			until(t, h, "it is out, and reads "+tt.kicked, func() bool { return len(h.main.players) == 0 && strings.Contains(g.told(), tt.kicked) })
			h, g = enter()
			ends(t, h.Shutdown)
			patient.Until(t, "it is out, and reads "+tt.closed, func() bool { return strings.Contains(g.told(), tt.closed) })
		})
	}
}
