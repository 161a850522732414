package cluster

import (
	"slices"
	"testing"
	"time"

	"parley/cluster/clustertest"
)

func TestNodes(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	about := func(schema string, players int, cpu float64) About {
		return About{Name: schema, Addrs: map[string]string{"replica": "127.0.0.1:1"}, Fingerprint: schema, Players: players, CPU: cpu}
	}
	a := newNode(t, Config{URLs: []string{url}, About: about("one", 10, 0.5)})
	b := newNode(t, Config{URLs: []string{url}, About: about("one", 35, 0.1)})
	c := newNode(t, Config{URLs: []string{url}, About: about("two", 0, 0)})
	for _, n := range []*Node{a, b, c} {
		until(t, "the others", func() bool { return len(n.Nodes()) == 3 })
	}
	best := func(schema string) uint64 {
		info, ok := c.LeastLoaded(schema)
		if !ok {
			return 0
		}
		return info.ID
	}
	if got := best("one"); got != b.ID() {
		t.Errorf("%x is the least loaded of %x and %x", got, a.ID(), b.ID())
	}
	if best("two") != c.ID() || best("three") != 0 {
		t.Error("a room is given to a node of another schema")
	}
	a.SetAbout(about("one", 40, 0.1))
	until(t, "news of a node", func() bool { return best("one") == a.ID() }) // b has been given rooms
	b.Drain()
	until(t, "a node that drains", func() bool {
		for _, info := range a.Nodes() {
			if info.ID == b.ID() && info.Draining {
				return true
			}
		}
		return false
	})
	if ids := a.Living(); !slices.Equal(ids, []uint64{a.ID()}) {
		t.Errorf("with a node that drains, and one of another schema: %x live", ids)
	}
	b.SetAbout(about("one", 0, 0))
	for range 20 {
		if best("one") == b.ID() {
			t.Fatal("a node that drains is given a room")
		}
	}
	began := time.Now()
	b.Close()
	until(t, "the end of a node", func() bool { return len(a.Nodes()) == 2 && len(c.Nodes()) == 2 })
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("a node that ends is gone after %v", took)
	}
}

// A node that says nothing for the lease is gone.
func TestANodeThatDies(t *testing.T) {
	n := &Node{id: 1, peers: map[uint64]*peer{}}
	n.heard(NodeName(2), []byte(`{"name":"b"}`), false, time.Now().Add(-lease+time.Second))
	n.heard(NodeName(3), []byte(`{"name":"c"}`), false, time.Now().Add(-lease-time.Second))
	n.heard("nonsense", []byte(`{}`), false, time.Now())
	n.heard(NodeName(4), []byte(`{`), false, time.Now())
	if list := n.Nodes(); len(list) != 1 || list[0].ID != 2 || list[0].Name != "b" {
		t.Errorf("%v", list)
	}
}

// A node that drains gives its rooms away at once, and no silence is waited for.
func TestADrainingNodeGivesItsRoomsAway(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a := newPlayer(t, Config{Name: "test", URLs: []string{url}})
	a.ask(5)
	until(t, "requests", func() bool { return a.done() == 5 })
	b := newPlayer(t, Config{Name: "test", URLs: []string{url}})
	b.ask(1)
	until(t, "a request of a stage", func() bool { return b.done() == 1 })
	a.node.Drain()
	until(t, "a new sequencer", func() bool { return b.node.Stats().Sequences == 1 && a.node.Stats().Sequences == 0 })
	for _, p := range []*player{a, b} {
		p.ask(5)
	}
	until(t, "requests of both", func() bool { return a.done() == 10 && b.done() == 6 })
	compare(t, a, b)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause > 1500*time.Millisecond {
		t.Errorf("a pause of %v", b.pause)
	}
	t.Logf("the longest pause: %v", b.pause)
}
