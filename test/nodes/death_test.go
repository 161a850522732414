package nodes

import (
	"errors"
	"testing"
	"time"

	"parley"
	"parley/client"
	"parley/cluster/clustertest"
	"parley/internal/patient"
)

// A server ends: the players of the other play on, and its own come back there as who they were.
func TestAServerEnds(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"replica", "relay", "duplex"} {
		t.Run(dialect, func(t *testing.T) {
			url := clustertest.NATS(t)
			a, b := serve(t, url), serve(t, url)
			ann := join(t, "ann", a.url(dialect)+","+b.url(dialect))
			bob := join(t, "bob", b.url(dialect))
			for _, p := range []*player{ann, bob} {
				patient.Until(t, "both see each other", func() bool { others, _, ok := p.look(); return ok && others >= 1 })
			}
			was := idOf(t, b, "ann")
			ann.Say("before")
			patient.Until(t, "bob has read it", func() bool { bob.look(); return bob.said["ann: before"] == 1 })
			patient.Until(t, "her client has its token", func() bool { _, hold := ann.Session(); return hold > 0 })
			a.end()
			patient.Until(t, "ann is back", func() bool {
				back := false
				for ev := range ann.At(time.Now()).Events() {
					back = back || ev.Kind == client.Back
				}
				return back
			})
			if is := idOf(t, b, "ann"); is != was {
				t.Errorf("ann was player %d and is %d", was, is)
			}
			ann.Say("after")
			patient.Until(t, "bob has read it", func() bool { bob.look(); return bob.said["ann: after"] > 0 })
			if bob.said["ann: before"] != 1 || bob.said["ann: after"] != 1 {
				t.Errorf("bob has read %v", bob.said)
			}
			_, from, _ := ann.look()
			ann.Steer(2, 0.2)
			patient.Until(t, "she walks", func() bool {
				_, me, ok := ann.look()
				dx, dy := me.X-from.X, me.Y-from.Y
				return ok && dx*dx+dy*dy > 1
			})
		})
	}
}

// idOf returns the number of a player who is there once. It asks again while a node is too busy to answer and the player may be there.
func idOf(t *testing.T, s *aServer, name string) (id int) {
	t.Helper()
	patient.Until(t, name+" is there", func() bool {
		list, err := s.Players()
		if err != nil && !errors.Is(err, parley.ErrSilent) {
			t.Fatal(err)
		}
		for _, p := range list {
			if p.Name == name && id != 0 {
				t.Fatalf("%s is there twice", name)
			}
			if p.Name == name {
				id = int(p.ID)
			}
		}
		if id == 0 && err == nil {
			t.Fatalf("%s is not there: %+v", name, list)
		}
		return id != 0
	})
	return id
}
