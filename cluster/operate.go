package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Drain says that the node takes no new players and no rooms, and gives away the rooms whose entries it makes, also those that are opened
// later: each to the least loaded of the nodes that run it. It does not wait for that.
func (n *Node) Drain() {
	n.mu.Lock()
	n.about.Draining = true
	n.mu.Unlock()
	n.renew()
	n.spawn(func() {
		s, _ := n.Status(n.ctx) // of the nodes that have answered
		heirs := s.heirs(n.id)
		n.mu.Lock()
		rooms := slices.Collect(maps.Values(n.rooms))
		n.mu.Unlock()
		for _, r := range rooms {
			r.spawn(func() {
				r.post(func() {
					now := time.Now()
					if heir := heirs[r.name]; heir != 0 {
						r.core.Move(now, heir)
					}
					r.core.Drain(now)
				})
			})
		}
	})
}

// heirs says to which node each room of a node is best given. A room that no other node runs has none: who opens it bids for it.
func (s *Status) heirs(of uint64) map[string]uint64 {
	given, heirs := map[string]int{}, map[string]uint64{}
	for _, r := range s.Rooms {
		if r.Sequencer != NodeName(of) {
			continue
		}
		best, least := "", math.Inf(1)
		for _, stage := range r.Stages {
			i := slices.IndexFunc(s.Nodes, func(n NodeStatus) bool { return n.Node == stage.Node })
			if i < 0 || stage.Node == r.Sequencer || stage.Stuck || s.Nodes[i].Draining {
				continue
			}
			if load := s.Nodes[i].load(given[stage.Node]); load < least {
				best, least = stage.Node, load
			}
		}
		if best != "" {
			given[best]++
			heirs[r.Room] = idOf(best)
		}
	}
	return heirs
}

// NodeCalled returns the ID of the node that lives and has a name: its ID as NodeName writes it, or what it is called.
func (n *Node) NodeCalled(name string) (uint64, error) {
	var called []uint64
	for _, info := range n.Nodes() {
		if NodeName(info.ID) == name {
			return info.ID, nil
		}
		if info.Name == name {
			called = append(called, info.ID)
		}
	}
	switch len(called) {
	case 0:
		return 0, fmt.Errorf("%w: %s", ErrNoNode, name)
	case 1:
		return called[0], nil
	}
	return 0, fmt.Errorf("%w: %d nodes are called %s: give the ID of one", ErrNodeName, len(called), name)
}

// ErrNodeName means that several nodes have a name.
var ErrNodeName = errors.New("cluster: the name is not of one node")

// ErrNoRoom means that no node runs such a room.
var ErrNoRoom = errors.New("cluster: no node runs such a room")

// MoveError says why a room is not made the entries of by another node.
type MoveError struct{ Room, Node, Why string }

func (e *MoveError) Error() string {
	return fmt.Sprintf("cluster: room %s is not moved to node %s: %s", e.Room, e.Node, e.Why)
}

// moveTopic is asked by MoveRoom.
const moveTopic = "parley.move"

// move is what the sequencer is asked.
type move struct {
	Room string `json:"room"`
	To   string `json:"to"`
}

// MoveRoom has another node make the entries of a room, from wherever it is called, and returns when it does. The node must run the room.
func (n *Node) MoveRoom(ctx context.Context, room string, to uint64) error {
	ctx, cancel := context.WithTimeout(ctx, moveTime)
	defer cancel()
	for asked := false; ; {
		s, err := n.Status(ctx)
		if err != nil {
			return err
		}
		from, err := s.mayMove(room, to)
		switch {
		case err != nil || from == to:
			return err
		case !asked && from != 0:
			body, _ := json.Marshal(move{room, NodeName(to)}) // two texts
			answer, err := n.AskNode(ctx, from, moveTopic, body)
			asked = err == nil && string(answer) == "moves" // else it is asked again: the room may have gone on elsewhere
		}
		select {
		case <-ctx.Done():
			return &MoveError{room, NodeName(to), "it has not happened in time, and may happen yet; look at the cluster's status"}
		case <-time.After(moveLook):
		}
	}
}

// mayMove returns which node makes the entries of a room, 0 for none, and an error if another cannot.
func (s *Status) mayMove(room string, to uint64) (from uint64, err error) {
	i := slices.IndexFunc(s.Rooms, func(r RoomStatus) bool { return r.Room == room })
	if i < 0 {
		return 0, fmt.Errorf("%w: %s", ErrNoRoom, room)
	}
	r, name := s.Rooms[i], NodeName(to)
	at := slices.IndexFunc(s.Nodes, func(n NodeStatus) bool { return n.Node == name })
	switch {
	case at < 0:
		return 0, fmt.Errorf("%w: %s", ErrNoNode, name)
	case s.Nodes[at].Silent:
		return 0, &MoveError{room, s.Nodes[at].called(), "it does not answer"}
	case s.Nodes[at].Draining:
		return 0, &MoveError{room, s.Nodes[at].called(), "it is draining"}
	case !slices.ContainsFunc(r.Stages, func(s StageStatus) bool { return s.Node == name }):
		return 0, &MoveError{room, s.Nodes[at].called(), "it does not run the room: only a node that does can make its entries"}
	}
	return idOf(r.Sequencer), nil
}

// called is a node as people know it.
func (n NodeStatus) called() string {
	if n.Name != "" {
		return n.Name
	}
	return n.Node
}

// moveAway answers moveTopic.
func (n *Node) moveAway(ctx context.Context, body []byte) []byte {
	var m move
	if json.Unmarshal(body, &m) != nil {
		return nil
	}
	r := n.sequenced(m.Room)
	if r == nil {
		return []byte("not here")
	}
	told := make(chan bool, 1)
	r.spawn(func() { r.post(func() { told <- r.core.Move(time.Now(), idOf(m.To)) }) })
	select {
	case ok := <-told:
		if ok {
			return []byte("moves")
		}
	case <-ctx.Done():
	case <-r.ctx.Done():
	case <-time.After(askTime):
	}
	return []byte("not here")
}

// sequenced returns the room of a name whose entries this node makes, nil if there is none. What is left of a room that ended has the same name.
func (n *Node) sequenced(name string) *Room {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.rooms {
		r.mu.Lock()
		ours := r.name == name && r.seen.sequences
		r.mu.Unlock()
		if ours {
			return r
		}
	}
	return nil
}

// idOf reads what NodeName has written, 0 if it has not.
func idOf(name string) (id uint64) {
	if _, err := fmt.Sscanf(strings.TrimSpace(name), "%016x", &id); err != nil {
		return 0
	}
	return id
}
