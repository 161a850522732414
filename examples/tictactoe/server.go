package main

import (
	"context"
	"fmt"
	"io"

	"parley/protocol/relay"
)

// What the server says, in one byte each: which mark a player has, that there is no place, or
// that the other one left. All else goes from player to player; the server does not know the game.
const (
	sayX    = byte(markX)
	sayO    = byte(markO)
	sayFull = 3
	sayLeft = 4
)

// serve runs a table for two until ctx ends. It writes its address to out.
func serve(ctx context.Context, addr string, out io.Writer) error {
	t := &table{}
	s, err := relay.Listen(addr, relay.Config{}, t.handle)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "a table for two at %s\n", s.Addr())
	<-ctx.Done()
	return s.Close()
}

// table is who sits where. The server calls handle for one event at a time.
type table struct {
	seats [3]*relay.Peer // by mark
}

func (t *table) handle(p *relay.Peer, ev relay.Event) {
	switch ev.Kind {
	case relay.EventJoined:
		t.seat(p)
	case relay.EventLeft:
		for m := range t.seats {
			if t.seats[m] != p {
				continue
			}
			t.seats[m] = nil
			if other := mark(m).other(); t.seats[other] != nil {
				t.tell(other, sayLeft)
			}
		}
	}
}

// seat gives a newcomer a mark; when both are there, each is told its own, and the game begins.
func (t *table) seat(p *relay.Peer) {
	for _, m := range []mark{markX, markO} {
		if t.seats[m] != nil {
			continue
		}
		t.seats[m] = p
		if t.seats[m.other()] == nil {
			return
		}
		t.tell(markX, sayX)
		t.tell(markO, sayO)
		return
	}
	// The first package to a newcomer always finds room.
	_ = p.Send(relay.Unordered, []byte{sayFull})
	p.Close("the table is full")
}

func (t *table) tell(m mark, what byte) {
	// Behind all that the other one sent: its last move comes before its leaving.
	if t.seats[m].Send(relay.SemiOrdered, []byte{what}) != nil {
		t.seats[m].Close("it does not listen")
	}
}
