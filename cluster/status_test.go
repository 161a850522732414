package cluster

import (
	"reflect"
	"testing"

	"parley/cluster/clustertest"
	"parley/cluster/core"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b := newPlayer(t, Config{Name: "test", URLs: []string{url}, About: About{Name: "a"}}), newPlayer(t, Config{Name: "test", URLs: []string{url}, About: About{Name: "b"}})
	a.ask(5)
	b.ask(5)
	var s Status
	until(t, "both stages in the status", func() bool {
		var err error
		s, err = b.node.Status(t.Context())
		return err == nil && len(s.Nodes) == 2 && len(s.Rooms) == 1 && len(s.Rooms[0].Stages) == 2 && s.Rooms[0].Sequencer != "" && s.Rooms[0].Stages[0].Tick > 0 && s.Rooms[0].Stages[1].Tick > 0 && a.done() == 5 && b.done() == 5
	})
	r := s.Rooms[0]
	first := r.Stages[0]
	if !first.Sequences {
		first = r.Stages[1]
	}
	if r.Room != "main" || r.Epoch == 0 || r.Sequencer != first.Node || first.Elections != 1 || len(first.Hash) != 16 {
		t.Errorf("%+v", r)
	}
	for _, stage := range r.Stages {
		if stage.Stuck || stage.Lag > 40 || stage.Tick == 0 {
			t.Errorf("%+v", stage)
		}
	}
	until(t, "the counters", func() bool {
		x, y := a.node.Stats(), b.node.Stats()
		return x.Elections+y.Elections == 1 && x.Sequences+y.Sequences == 1 && x.Made+y.Made > 0 && x.Ran+y.Ran > 0 && x.Rooms == 1 && y.Rooms == 1
	})
}

// Each counter of a room is in the node's sum.
func TestAdd(t *testing.T) {
	var one, sum core.Stats
	fields := reflect.ValueOf(&one).Elem()
	for i := range fields.NumField() {
		fields.Field(i).SetUint(uint64(i + 1))
	}
	add(&sum, one)
	add(&sum, one)
	for i := range fields.NumField() {
		if got := reflect.ValueOf(sum).Field(i).Uint(); got != uint64(2*(i+1)) {
			t.Errorf("%s is left out", fields.Type().Field(i).Name)
		}
	}
}

func TestByRoom(t *testing.T) {
	rooms := byRoom([]StageStatus{
		{Room: "b", Node: "2", Tick: 90, Due: 1_000_000, Epoch: 3}, {Room: "a", Node: "1", Stuck: true}, {Room: "b", Node: "1", Tick: 100, Due: 1_500_000, Epoch: 4, Sequences: true},
		{Room: "b", Node: "3", Tick: 95, Due: 1_250_000, Epoch: 3, Sequences: true}, // it does not know yet
	})
	if len(rooms) != 2 || rooms[0].Room != "a" || rooms[0].Sequencer != "" {
		t.Fatalf("%+v", rooms)
	}
	if b := rooms[1]; b.Sequencer != "1" || b.Epoch != 4 || b.Tick != 100 || b.Stages[1].Lag != 10 || b.Stages[1].LagMS != 500 {
		t.Errorf("%+v", b)
	}
}

// A stage is marked whose state is not that of the sequencer at the same tick; stages at other ticks say nothing about it.
func TestStagesThatDiffer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		stages []StageStatus
		want   string
	}{
		{"all agree", []StageStatus{{Node: "1", Sequences: true, Tick: 9, Hash: "a"}, {Node: "2", Tick: 9, Hash: "a"}}, ""},
		{"one is behind", []StageStatus{{Node: "1", Sequences: true, Tick: 9, Hash: "a"}, {Node: "2", Tick: 8, Hash: "b"}}, ""},
		{"one differs", []StageStatus{{Node: "1", Sequences: true, Tick: 9, Hash: "a"}, {Node: "2", Tick: 9, Hash: "b"}, {Node: "3", Tick: 9, Hash: "a"}}, "2"},
		{"two differ from each other", []StageStatus{{Node: "1", Sequences: true, Tick: 9, Hash: "a"}, {Node: "2", Tick: 8, Hash: "b"}, {Node: "3", Tick: 8, Hash: "c"}}, "23"},
		{"one tells none", []StageStatus{{Node: "1", Sequences: true, Tick: 9, Hash: "a"}, {Node: "2", Tick: 9}}, ""},
	} {
		got := ""
		for _, s := range byRoom(tt.stages)[0].Stages {
			if s.Differs {
				got += s.Node
			}
		}
		if got != tt.want {
			t.Errorf("%s: marked are %q, want %q", tt.name, got, tt.want)
		}
	}
}
