package program

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	front "parley"
	"parley/cluster"
)

// leaveTime bounds how long a node that ends waits for its players to be elsewhere. With what follows it is less than service managers wait
// before they kill.
const leaveTime = 15 * time.Second

// leaveTopic is what a node is asked that is to drain and end.
const leaveTopic = "operator.leave"

// hearOperators has operators at other nodes end this one.
func (f *clusterFlags) hearOperators() error {
	return f.node.Answer(leaveTopic, func(context.Context, []byte) []byte {
		f.askToLeave()
		return []byte("leaves")
	})
}

// askToLeave has this node drain and end.
func (f *clusterFlags) askToLeave() {
	f.leaveOnce.Do(func() { close(f.leave) })
}

// others reports whether a node lives, beside one, that could go on with its rooms.
func (f *clusterFlags) others(beside uint64) bool {
	return slices.ContainsFunc(f.node.Nodes(), func(n cluster.NodeInfo) bool {
		return n.ID != beside && !n.Draining && n.Waits == "" && n.Fingerprint == f.about.Fingerprint
	})
}

// drain has other nodes go on with the rooms and players of a server that is to end. If there are none, the rooms stand still until one
// starts, and players are told what they are told of a server that closes.
func (f *clusterFlags) drain(s *front.Server, out io.Writer) {
	if f.node == nil || !f.others(f.node.ID()) {
		return
	}
	say(out, "draining: players go on at other nodes\n")
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if err := s.Drain(ctx, f.elsewhere); err != nil {
		s.Log().Warn("the node ends before all its players are elsewhere", "err", err)
		say(out, fmt.Sprintf("not all players are elsewhere after %v\n", leaveTime))
	}
}

// elsewhere returns where players find the other nodes, over a dialect or a carrier of browsers, the least loaded node first.
func (f *clusterFlags) elsewhere(over string) (list []string) {
	nodes := slices.DeleteFunc(f.node.Nodes(), func(n cluster.NodeInfo) bool {
		return n.ID == f.node.ID() || n.Draining || n.Waits != "" || n.Fingerprint != f.about.Fingerprint || n.Addrs[over] == ""
	})
	slices.SortStableFunc(nodes, func(a, b cluster.NodeInfo) int { return a.Players - b.Players })
	for _, n := range nodes {
		list = append(list, n.Addrs[over])
	}
	return list
}
