package cluster

import (
	"errors"
	"testing"

	"parley/cluster/clustertest"
)

// A room is moved by the name of a node, from a node that has no part in either end; what cannot be says why.
func TestMoveRoom(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	of := func(name string) Config {
		return Config{Name: "test", URLs: []string{url}, About: About{Name: name}}
	}
	a, b := newPlayer(t, of("a")), newPlayer(t, of("b"))
	c := newNode(t, of("c"))
	a.ask(5)
	b.ask(5)
	var from, to string
	until(t, "the room has a sequencer", func() bool {
		s, err := c.Status(t.Context())
		if err != nil || len(s.Nodes) != 3 || len(s.Rooms) != 1 || len(s.Rooms[0].Stages) != 2 || s.Rooms[0].Sequencer == "" {
			return false
		}
		if from, to = "a", "b"; s.Rooms[0].Sequencer == NodeName(b.node.ID()) {
			from, to = "b", "a"
		}
		return true
	})
	id := func(name string) uint64 {
		id, err := c.NodeCalled(name)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if id(NodeName(id(to))) != id(to) {
		t.Error("a node is not found by its ID")
	}
	var refused *MoveError
	for name, err := range map[string]error{"no such room": c.MoveRoom(t.Context(), "lost", id(to)), "no such node": c.MoveRoom(t.Context(), "main", 1), "no stage": c.MoveRoom(t.Context(), "main", c.ID())} {
		if err == nil || errors.Is(err, ErrNoRoom) != (name == "no such room") || errors.Is(err, ErrNoNode) != (name == "no such node") || errors.As(err, &refused) != (name == "no stage") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.NodeCalled("d"); !errors.Is(err, ErrNoNode) {
		t.Errorf("a node that does not live: %v", err)
	}
	if err := c.MoveRoom(t.Context(), "main", id(to)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Status(t.Context())
	if err != nil || s.Rooms[0].Sequencer != NodeName(id(to)) {
		t.Errorf("the sequencer is %+v, not %s: %v", s.Rooms, to, err)
	}
	if err := c.MoveRoom(t.Context(), "main", id(to)); err != nil {
		t.Errorf("a room that is there already: %v", err)
	}
	twin := newNode(t, of("a"))
	until(t, "two nodes of a name", func() bool {
		_, err := c.NodeCalled("a")
		return errors.Is(err, ErrNodeName)
	})
	twin.Close()
	until(t, "the other is gone", func() bool { _, err := c.NodeCalled("a"); return err == nil })
	for _, p := range []*player{a, b} { // the one that makes the entries drains: the other goes on
		if p.node.ID() == id(to) {
			p.node.Drain()
		}
	}
	until(t, "the room is left to the other", func() bool {
		s, err := c.Status(t.Context())
		return err == nil && len(s.Rooms) == 1 && s.Rooms[0].Sequencer == NodeName(id(from))
	})
	if err := c.MoveRoom(t.Context(), "main", id(to)); !errors.As(err, &refused) {
		t.Errorf("a node that drains is given a room: %v", err)
	}
	if compare(t, a, b) == 0 {
		t.Error("the nodes have run no tick together")
	}
}

// A node that drains spreads its rooms over those that run them, the least loaded first.
func TestHeirs(t *testing.T) {
	node := func(id uint64, about About) NodeStatus { return NodeStatus{Node: NodeName(id), About: about} }
	stages := func(ids ...uint64) (list []StageStatus) {
		for _, id := range ids {
			list = append(list, StageStatus{Node: NodeName(id), Sequences: id == 1})
		}
		return list
	}
	s := Status{
		Nodes: []NodeStatus{node(1, About{}), node(2, About{Players: 5}), node(3, About{CPU: 0.5}), node(4, About{Draining: true})},
		Rooms: []RoomStatus{
			{Room: "a", Sequencer: NodeName(1), Stages: stages(1, 2, 3, 4)}, {Room: "b", Sequencer: NodeName(1), Stages: stages(1, 3)}, {Room: "c", Sequencer: NodeName(1), Stages: stages(1, 4)},
			{Room: "d", Sequencer: NodeName(2), Stages: stages(1, 2)}, {Room: "e", Sequencer: NodeName(1), Stages: stages(1)}, {Room: "f", Sequencer: NodeName(1), Stages: stages(1, 5)},
		},
	}
	heirs := s.heirs(1)
	if len(heirs) != 2 || heirs["a"] != 2 || heirs["b"] != 3 {
		t.Errorf("%v", heirs)
	}
	s = Status{Nodes: []NodeStatus{node(1, About{}), node(2, About{}), node(3, About{})}}
	for _, room := range []string{"a", "b", "c", "d"} {
		s.Rooms = append(s.Rooms, RoomStatus{Room: room, Sequencer: NodeName(1), Stages: stages(1, 2, 3)})
	}
	count := map[uint64]int{}
	for _, heir := range s.heirs(1) {
		count[heir]++
	}
	if count[2] != 2 || count[3] != 2 {
		t.Errorf("four rooms are spread as %v", count)
	}
}
