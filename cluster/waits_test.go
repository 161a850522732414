package cluster

import (
	"slices"
	"testing"

	"parley/cluster/clustertest"
)

// A node that waits does nothing for the others, such as having the queue of matches. It knows itself.
func TestANodeThatWaits(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a := newNode(t, Config{URLs: []string{url}})
	b := newNode(t, Config{URLs: []string{url}, About: About{Waits: "for the others to end"}})
	for _, n := range []*Node{a, b} {
		until(t, "the others", func() bool { return len(n.Nodes()) == 2 })
	}
	if ids := a.Living(); !slices.Equal(ids, []uint64{a.ID()}) {
		t.Errorf("beside a node that waits %x live", ids)
	}
	if ids := b.Living(); len(ids) != 2 {
		t.Errorf("at a node that waits %x live", ids)
	}
}
