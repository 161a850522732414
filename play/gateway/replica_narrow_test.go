package gateway

import (
	"testing"

	"parley/internal/kit"
	"parley/internal/pace"
	"parley/protocol/replica"
	"parley/world"
)

// To a player on a narrow path its own entity comes first, whatever the path takes, then what is near. An entity of the Store that is another's now
// counts as that one.
func TestToAReplicaPlayerItsOwnEntityMattersMost(t *testing.T) {
	h := slowHub(&kit.SlowWorld{Walkers: make([]kit.SlowWalker, 100)})
	d := must(NewReplica(h, ReplicaConfig{Addr: loopback}))
	defer d.Shutdown(t.Context())
	p := must(replica.Dial(t.Context(), d.Addr().String(), replica.Config{}))
	follow(t, p.Close, p.Events(), func(replica.Event) {})
	if err := p.Link(); err != nil {
		t.Fatal(err)
	}
	own := world.ID(0)
	until(t, h, "the player is told", func() bool {
		for _, s := range h.main.side(d).seats {
			own = h.main.entityOf(s.player)
		}
		return own != 0 && stageOf[*replicaStage](h, d).entities[own] != nil && d.told != nil && d.own == own
	})
	if got := d.urgency(stageOf[*replicaStage](h, d).entities[own]); got != replica.Own {
		t.Errorf("the own entity has an urgency of %d", got)
	}
	// They stand in a circle: the next is near, and the one beyond the middle far.
	near, far := uint32(0), uint32(1<<31)
	for id, e := range stageOf[*replicaStage](h, d).entities {
		if id != own {
			near, far = max(near, d.urgency(e)), min(far, d.urgency(e))
		}
	}
	if near >= replica.Own || near < 200 || far > 60 {
		t.Errorf("the nearest has an urgency of %d, the furthest of %d", near, far)
	}
	for id, e := range stageOf[*replicaStage](h, d).entities {
		if world.ID(e.Tag) != id {
			t.Fatalf("an entity of the Store says that it is %v, and is %v", world.ID(e.Tag), id)
		}
	}
}

// On a narrow path terrain has its share here too: a player who asks for a chunk each second over 100 kbit/s would see nothing else.
func TestAReplicaPlayersTerrainHasItsShare(t *testing.T) {
	h := slowHub(&kit.SlowWorld{Walkers: make([]kit.SlowWalker, 1)})
	s := &replicaSeat{Seat: Seat{dialect: &Replica{service: service{hub: h, name: "replica"}}, room: h.main, asked: []chunkAsk{{}}}}
	s.terrain.grow(terrainRate, h.cfg.TickRate)
	for _, tt := range []struct {
		path path
		want bool
	}{
		{path{budget: pace.Unlimited}, true},
		{path{budget: pace.Unlimited, unacked: bulkUnacked}, false},
		{path{budget: 600, saved: 1}, true},
		{path{budget: 600, saved: 0}, false},
		{path{budget: 600, saved: 1, unacked: bulkUnacked}, false},
	} {
		s.path = tt.path // of this tick
		s.path.tick = h.main.sim.Tick()
		if _, got := s.wanted(0); got != tt.want {
			t.Errorf("%+v: a chunk is wanted: %v", tt.path, got)
		}
	}
}
