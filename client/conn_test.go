package client

import (
	"errors"
	"slices"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/kit/chance"
	"parley/play/line"
	"parley/play/message"
	"parley/play/picture"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
)

// What was told before the connection was lost, or the game ended, is told before that: also a player's coming, which waits until the own
// entity is known.
func TestNothingComesBehindTheEnd(t *testing.T) {
	for _, tt := range []struct {
		end  line.NoticeKind
		last EventKind
	}{{line.Ended, Ended}, {line.Away, Away}} {
		core, err := picture.New(arena.Game(), picture.Config{Name: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		core.Connected(now)
		r := picture.NewRelay(core, func(relay.Mode, relaycore.Target, []byte) error { return nil })
		tell := func(what byte, b []byte) {
			r.Read(now, relay.Event{Kind: relay.EventPackage, Package: relaycore.Package{Server: true, Payload: append([]byte{what}, b...)}})
		}
		ann := message.Member{What: message.MemberHere, Name: "ann"}
		tell(message.RelayMembers, ann.AppendTo(nil, message.Big))
		tell(message.RelaySaid, message.AppendSaid(nil, "bob", []byte("hello")))
		c := &Client{core: core, wake: make(chan struct{}, 1)}
		c.connection(line.Notice{Kind: tt.end, Text: "why", Why: errors.New("why")})
		var told []EventKind
		for range 2 {
			for ev := range c.At(now).Events() {
				told = append(told, ev.Kind)
			}
		}
		if want := []EventKind{Here, Said, tt.last}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	}
}

// At adds no allocation to those of the core, which makes none.
func TestAtAllocatesNothing(t *testing.T) {
	if chance.Race {
		t.Skip("the race detector allocates")
	}
	core, err := picture.New(arena.Game(), picture.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c, now := &Client{core: core, wake: make(chan struct{}, 1)}, time.Now()
	if n := testing.AllocsPerRun(200, func() {
		now = now.Add(time.Millisecond)
		for range c.At(now).Events() {
			t.Error("an event of nothing")
		}
	}); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}
