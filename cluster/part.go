package cluster

import (
	"context"
	"fmt"

	"parley/cluster/core"
)

var _ core.Cluster = (*Node)(nil)

// Settle returns the settings of a room: those of the node that was the first to say some. It waits until the cluster has enough nodes.
func (n *Node) Settle(room string, settings []byte) ([]byte, error) {
	if err := n.Wait(n.ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(n.ctx, settleTime)
	defer cancel()
	created, err := n.CreateRoom(ctx, room, settings)
	if created || err != nil {
		return settings, err
	}
	theirs, ok, err := n.RoomSettings(ctx, room)
	if err == nil && !ok {
		err = fmt.Errorf("cluster: room %q has just ended: open it again", room)
	}
	return theirs, err
}

// Join begins this node's part in a room of these settings: it is Open, for an owner that does not know this package.
func (n *Node) Join(room string, settings []byte, c core.PartConfig) (core.Part, error) {
	r, err := n.Open(room, RoomConfig{Log: logOf(room, settings), Period: c.Period, World: c.World, Run: c.Run, Here: c.Here, Stopped: c.Stopped, Differs: c.Differs, Hash: c.Hash})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Place returns the node that a new room of this node's schema is best given to, as LeastLoaded does, and where its players reach it.
func (n *Node) Place() (node uint64, addrs map[string]string, ok bool) {
	best, ok := n.LeastLoaded(n.fingerprint())
	return best.ID, best.Addrs, ok
}

// Called returns what a node calls itself, and its ID if it has not said.
func (n *Node) Called(id uint64) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if id == n.id && n.about.Name != "" {
		return n.about.Name
	}
	if p := n.peers[id]; p != nil && p.about.Name != "" {
		return p.about.Name
	}
	return NodeName(id)
}

// Living returns the IDs of the nodes that live and have this node's schema, without others that wait and run no rooms, and without those that are draining,
// unless all are.
func (n *Node) Living() (ids []uint64) {
	fingerprint := n.fingerprint()
	var leaving []uint64
	for _, info := range n.Nodes() {
		switch {
		case info.Fingerprint != fingerprint, info.Waits != "" && info.ID != n.id:
		case info.Draining:
			leaving = append(leaving, info.ID)
		default:
			ids = append(ids, info.ID)
		}
	}
	if len(ids) == 0 {
		return leaving
	}
	return ids
}
