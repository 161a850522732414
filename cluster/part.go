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

// Join begins this node's part in a room: it is Open, for an owner that does not know this package.
func (n *Node) Join(room string, c core.PartConfig) (core.Part, error) {
	r, err := n.Open(room, RoomConfig{Period: c.Period, World: c.World, Run: c.Run, Here: c.Here, Stopped: c.Stopped, Hash: c.Hash})
	if err != nil {
		return nil, err
	}
	return r, nil
}
