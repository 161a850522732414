package nodes

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley"
	"parley/client"
	"parley/cluster"
	"parley/cluster/clustertest"
	"parley/internal/patient"
)

// tellAddrs has a node say where its players reach it, and how much it has to do.
func (s *aServer) tellAddrs(cpu float64) {
	s.node.SetAbout(cluster.About{Addrs: map[string]string{"replica": s.url("replica"), "relay": s.url("relay")}, CPU: cpu})
}

// Players who wait at different servers are matched with each other, and play at the server that has the least to do.
func TestAMatchOverServers(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b, c := serve(t, url), serve(t, url), serve(t, url)
	a.tellAddrs(0.9)
	b.tellAddrs(0.5)
	c.tellAddrs(0)
	servers := []*aServer{a, b, c}
	patient.Until(t, "all know of the load", func() bool {
		for _, s := range servers {
			known := 0
			for _, n := range s.node.Nodes() {
				if n.Addrs != nil {
					known++
				}
			}
			if known != 3 {
				return false
			}
		}
		return true
	})
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	if _, err := a.Match(ctx, parley.MatchRequest{Players: 1}); !errors.Is(err, parley.ErrMatch) {
		t.Errorf("a match of one: %v", err)
	}
	type result struct {
		parley.MatchResult
		err error
	}
	found := make(chan result, 3)
	for _, s := range servers {
		go func() {
			m, err := s.Match(ctx, parley.MatchRequest{Mode: "duel", Players: 3})
			found <- result{m, err}
		}()
	}
	hangs, hangUp := context.WithCancel(ctx)
	gone := make(chan error, 1)
	go func() {
		_, err := b.Match(hangs, parley.MatchRequest{Mode: "chess"})
		gone <- err
	}()
	var all []result
	for range servers {
		r := patient.Value(found)
		if r.err != nil {
			t.Fatal(r.err)
		}
		all = append(all, r)
	}
	hangUp()
	if err := patient.Value(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("who hangs up: %v", err)
	}
	for _, r := range all {
		if r.Room != all[0].Room || r.Addrs["replica"] != c.url("replica") {
			t.Errorf("the match is %+v", r.MatchResult)
		}
	}
	ann := joinAs(t, "ann", all[0].Addrs["replica"], client.Config{Ticket: all[0].Ticket})
	bob := joinAs(t, "bob", all[1].Addrs["relay"], client.Config{Ticket: all[1].Ticket})
	for _, p := range []*player{ann, bob} {
		patient.Until(t, "they see each other", func() bool { others, _, ok := p.look(); return ok && others == 1 })
	}
	joinAs(t, "eve", a.url("replica"), client.Config{Ticket: all[2].Ticket}) // at any other it is the same room
	patient.Until(t, "all three are there", func() bool { others, _, _ := ann.look(); return others == 2 })
	if r := roomOf(t, a, all[0].Room); r.MaxPlayers != 3 || r.Mode != "duel" {
		t.Errorf("the room is %+v", r)
	}
}
