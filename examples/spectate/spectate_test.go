package main

import (
	"context"
	"errors"
	"slices"
	"testing"

	"parley/internal/patient"
	"parley/protocol/stamp"
	"parley/protocol/stamp/core"
)

// The example works: who watches sees all that moves, the ripple come and go, and hears when
// the server closes.
func TestWhoWatchesSeesThePond(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	addr, served := make(chan string, 1), make(chan error, 1)
	go func() { served <- serve(ctx, "127.0.0.1:0", func(a string) { addr <- a }) }()
	server := patient.Value(addr)

	sights, watched := make(chan sight, 1000), make(chan error, 2)
	go func() { watched <- watch(context.Background(), server, func(s sight) { sights <- s }) }()
	seen := map[string]int{}
	for seen["boat"] < 10 || seen["duck"] < 2 || seen["frog"] < 2 || seen["ripple"] == 0 || seen["gone"] == 0 {
		s := patient.Value(sights)
		if s.gone {
			s.thing.name = "gone"
		}
		seen[s.thing.name]++
	}

	early, leave := context.WithCancel(context.Background())
	go func() { watched <- watch(early, server, func(sight) { leave() }) }()
	if err := patient.Value(watched); err != nil {
		t.Errorf("who leaves ends with %v", err)
	}
	cancel()
	if err := patient.Value(served); err != nil {
		t.Errorf("serve: %v", err)
	}
	var why stamp.Close
	if err := patient.Value(watched); !errors.As(err, &why) || why.Reason != core.ReasonPeer {
		t.Errorf("who stays ends with %v", err)
	}
}

// What was lost is told again as it is then, with all else that changed, and what finds no
// room waits.
func TestWhatIsLostComesAgainAtItsNewest(t *testing.T) {
	a := newAudience()
	v := &viewer{owed: map[uint16]bool{1: true, 4: true}, sent: map[uint32][]uint16{}}
	conn := new(stamp.Conn)
	a.viewers[conn] = v
	var data []byte
	put := func(b []byte) error { data = b; return nil }
	v.send(a.pond, 1, put)
	if len(v.owed) != 0 || !slices.Equal(v.sent[1], []uint16{1, 4}) {
		t.Fatalf("after sending: %+v", v)
	}
	a.pond.things[1].x = 42
	a.handle(conn, stamp.Event{Kind: stamp.EventLost, Tag: 1})
	if !v.owed[1] || !v.owed[4] || len(v.sent) != 0 {
		t.Fatalf("after the loss: %+v", v)
	}
	v.send(a.pond, 2, func([]byte) error { return stamp.ErrWindowFull })
	if !v.owed[1] || len(v.sent) != 0 {
		t.Fatalf("after a refusal: %+v", v)
	}
	v.send(a.pond, 3, put)
	var got []sight
	x := spectator{map[uint16]uint64{4: 9}}
	x.see(stamp.Event{Number: 5, Data: data}, 0, func(s sight) { got = append(got, s) })
	if len(got) != 1 || got[0].entity != 1 || got[0].thing.x != 42 {
		t.Errorf("seen: %v; want the boat at 42, and not the older news of 4", got)
	}
	a.handle(conn, stamp.Event{Kind: stamp.EventAcked, Tag: 3})
	if len(v.sent)+len(v.owed) != 0 {
		t.Errorf("after the ack: %+v", v)
	}
}

func TestABadRecordIsNotSeen(t *testing.T) {
	x := spectator{map[uint16]uint64{}}
	for _, fields := range [][]byte{{1}, make([]byte, 8), append(make([]byte, 8), 5, 'x'), make([]byte, 30)} {
		rec := stamp.Record{Entity: 1, Kind: kindThing, Fields: fields}
		data, _ := rec.AppendTo(nil, stamp.MaxData)
		x.see(stamp.Event{Data: data}, 0, func(s sight) { t.Errorf("%x was seen as %v", fields, s) })
		x.see(stamp.Event{Data: data[:len(data)-1]}, 0, func(s sight) { t.Errorf("half of %x was seen as %v", fields, s) })
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"serve"}, {"sing", "x"}, {"watch", "x", "y"}} {
		if run(t.Context(), args) == nil {
			t.Errorf("%q was done", args)
		}
	}
}
