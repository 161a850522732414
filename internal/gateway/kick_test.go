package gateway

import (
	"strings"
	"testing"

	"parley/protocol/realm"
	"parley/protocol/relay"
)

// Over each dialect who is kicked is told, in as many words as the dialect has, and is out of
// the world.
func TestKicksReachEachDialect(t *testing.T) {
	for _, tt := range []struct {
		name string
		join func(t *testing.T, h *Hub) (err func() error)
		want string
	}{
		{"replica", func(t *testing.T, h *Hub) func() error {
			d, err := NewReplica(h, ReplicaConfig{Addr: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			p := playReplica(t, d)
			return p.Err
		}, "go away"},
		{"relay", func(t *testing.T, h *Hub) func() error {
			d, err := NewRelay(h, RelayConfig{Addr: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			p := playRelay(t, d)
			if err := p.Send(relay.Unordered, relay.ToServer, make([]byte, 9)); err != nil {
				t.Fatal(err)
			}
			return p.Err
		}, ""},
		{"duplex", func(t *testing.T, h *Hub) func() error {
			d, err := NewDuplex(h, DuplexConfig{Addr: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			return playDuplex(t, h, d).Err
		}, ""},
		{"realm", func(t *testing.T, h *Hub) func() error {
			p := playRealm(t, h, plainRealm(t, h, nil), "ann")
			go p.Login(t.Context(), "ann", "") // it is answered when the hub has run
			return p.Err
		}, realm.ExitClientKicked.String()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newArena(t)
			told := tt.join(t, h)
			t.Cleanup(func() { h.Shutdown(t.Context()) })
			until(t, h, "it is in", func() bool { return len(h.players) == 1 })
			until(t, h, "its entity is there", func() bool { return h.sim.Wire(h.entityOf(h.Players()[0])) != 0 })
			if told() != nil {
				t.Fatalf("it is out already: %v", told())
			}
			ticks(t, h, 5)
			if !h.Kick(h.Players()[0].ID, "go away") {
				t.Fatal("it is not there")
			}
			until(t, h, "it is out", func() bool { return len(h.players) == 0 && told() != nil })
			if why := told().Error(); !strings.Contains(why, tt.want) {
				t.Errorf("it was told %q", why)
			}
		})
	}
}
