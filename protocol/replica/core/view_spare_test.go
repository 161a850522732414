package core

import (
	"testing"
	"time"

	"parley/internal/kit"
)

// wander has each client see some of the entities, other ones in each tick, and acknowledges all
// packets by hand. It returns a tick.
func wander(t *testing.T, clients, entities int) (r *room, tick func()) {
	r = newRoom(t, 4, kit.Lan(), clients, 0)
	for range entities {
		r.spawn()
	}
	rng, now := r.w.Rand(), r.w.Now()
	conns := make([]*Conn, clients)
	for i, x := range r.clients {
		conns[i] = r.w.conn(x)
	}
	buf, ack, value := make([]byte, 2048), make([]byte, 0, 8), make([]byte, 8)
	var p Packet
	return r, func() {
		now = now.Add(50 * time.Millisecond)
		for _, c := range conns {
			for range entities / 8 {
				if e := r.entities[rng.IntN(entities)]; c.endpoint.view != nil && c.endpoint.view.seen[e] != nil {
					c.Hide(e)
				} else if err := c.Show(e); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.move(now, value)
		for n, to, ok := r.w.mux.PollTransmit(buf); ok; n, to, ok = r.w.mux.PollTransmit(buf) {
			eachPacket(&p, FromServer, buf[:n], func([]byte) {
				if p.Reliable {
					ack = (&Packet{Kind: KindAck, Acked: p.Sequence}).AppendTo(ack[:0])
					r.w.mux.HandleDatagram(now, to, ack)
				}
			})
		}
	}
}

// Players who walk about, so that each sees others in every tick, allocate nothing, but when
// by chance more is in sight or under way than ever before, which is less than once in a hundred ticks.
func TestWhoComesAndGoesAllocatesNothing(t *testing.T) {
	r, tick := wander(t, 8, 120)
	walk := func() {
		for range 1000 {
			tick()
		}
	}
	if n := testing.AllocsPerRun(1, walk); n >= 10 && !kit.Race {
		t.Errorf("1,000 ticks, after as many others, allocate %v times", n)
	}
	if n := r.w.conn(r.clients[0]).endpoint.sender.Stats().Accepted; n < 4000 {
		t.Errorf("a client was sent %d packets in 2,000 ticks, want values and what is gone in each", n)
	}
}

// What the views of connections held that ended is there for the next ones, and nothing of it
// counts as under way.
func TestAnEndedConnectionGivesItsSlotsBack(t *testing.T) {
	r, tick := wander(t, 8, 120)
	for range 50 {
		tick()
	}
	store := r.w.mux.Store()
	for i, x := range r.clients {
		c := r.w.conn(x)
		r.w.mux.Replicate(100_000) // and nobody acknowledges it
		used, spare := 0, store.kinds[r.kind].spares
		for _, s := range c.endpoint.view.kinds[r.kind].used {
			if s != nil {
				used++
			}
		}
		c.endpoint.end(Close{Reason: ReasonTimeout})
		if got := store.kinds[r.kind].spares - spare; used == 0 || got != used || c.endpoint.view != nil {
			t.Errorf("connection %d had %d slots and gave back %d", i, used, got)
		}
	}
	free := 0
	for tag := store.batches.free; tag != 0; tag = store.batches.at(tag).older {
		if free++; store.batches.at(tag).cargo != nil {
			t.Error("a batch that is not in use has a cargo")
		}
	}
	if free != len(store.batches.list) {
		t.Errorf("%d of %d batches are free", free, len(store.batches.list))
	}
}
