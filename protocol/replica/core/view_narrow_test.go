package core

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/simnet"
)

// narrow is a room with one client whose path takes few bytes a tick, and whose own entity is the first.
type narrow struct {
	*room
	tick    uint32
	sent    int   // bytes of the last tick, headers included
	packets []int // of its packets
}

func newNarrow(t testing.TB, path simnet.Profile, objects int) *narrow {
	n := &narrow{room: newRoom(t, 1, path, 1, 1)}
	for i := range objects {
		e := n.spawn()
		e.Tag = uint64(i)
		n.show(e, 0)
	}
	n.w.Filter(func(p simnet.Packet) (v simnet.Verdict) {
		var q Packet
		eachPacket(&q, FromServer, p.Bytes, func(b []byte) {
			if p.From == n.w.server && q.Kind == KindReplicate {
				n.sent += len(b) + 28
				n.packets = append(n.packets, len(b))
			}
		})
		return v
	})
	return n
}

func ofNarrow(e *Entity) uint32 {
	switch {
	case e.Tag == 0:
		return Own
	case e.Tag <= 10:
		return 200
	}
	return 20
}

// move changes all, and sends so many bytes of it.
func (n *narrow) move(path int) {
	n.tick++
	for _, e := range n.entities {
		n.set(e, 0, n.tick)
	}
	n.sent, n.packets = 0, n.packets[:0]
	n.w.mux.Advance(n.w.Now())
	n.w.conn(n.clients[0]).replicate(4096, path, ofNarrow)
	n.w.server.Poke()
	n.w.Pass(50 * time.Millisecond)
}

// seen returns the tick of the newest value that the client has of an entity, 0 if there is none.
func (n *narrow) seen(i int) uint32 {
	link, _ := n.clients[0].Values().KindLink("thing")
	slot, _ := n.w.conn(n.clients[0]).Sees(n.entities[i])
	v, ok := n.clients[0].Values().EntityValue(link, slot, "a")
	if !ok {
		return 0
	}
	return uint32(v.Int())
}

func TestTheOwnEntityIsToldWhateverThePathTakes(t *testing.T) {
	n := newNarrow(t, kit.Lan(), 100)
	for range 5 {
		n.move(0)
		if got := n.seen(0); got != n.tick {
			t.Fatalf("tick %d: of the own entity the client knows tick %d", n.tick, got)
		}
	}
	if n.sent > 100 {
		t.Errorf("%d bytes were sent beside it", n.sent)
	}
	for i := range n.entities[1:] {
		if n.seen(i+1) != 0 {
			t.Errorf("entity %d was told, with a budget of 0", i+1)
		}
	}
}

// With a fifth of what there is to tell, what is near is told more often than what is far, all of it at its newest.
func TestTheNearIsToldOftenAndTheFarSeldom(t *testing.T) {
	n := newNarrow(t, kit.Lan(), 150)
	told, last, gap := make([]int, 150), make([]uint32, 150), make([]uint32, 150)
	const ticks, path = 400, 400
	bytes := 0
	for range ticks {
		n.move(path)
		bytes += n.sent
		if n.sent > path+20 {
			t.Fatalf("tick %d: %d bytes were sent, want %d at most", n.tick, n.sent, path)
		}
		for i := range told {
			if got := n.seen(i); got > last[i] {
				if got != n.tick {
					t.Fatalf("entity %d: of tick %d, told in tick %d", i, got, n.tick)
				}
				told[i]++
				gap[i] = max(gap[i], got-last[i])
				last[i] = got
			}
		}
	}
	if told[0] != ticks {
		t.Errorf("the own entity was told %d times in %d ticks", told[0], ticks)
	}
	near, far := 0, 0
	for i, k := range told {
		switch {
		case i == 0:
		case i <= 10:
			near += k
		default:
			far += k
		}
		// Of the 34 values that fit into a tick, 11 are the own and what is near: a far one has its turn every 6 ticks.
		if gap := max(gap[i], n.tick-last[i]); gap > 8 {
			t.Errorf("entity %d was not told for %d ticks", i, gap)
		}
	}
	if ratio := float64(near) / 10 / (float64(far) / 139); ratio < 5 || ratio > 11 {
		t.Errorf("what is near was told %.1f times as often as what is far, want about 6", ratio)
	}
	if bytes < ticks*path*95/100 {
		t.Errorf("%d bytes were sent in %d ticks of %d", bytes, ticks, path)
	}
}

// When the path takes all again, the view is together as before, and the client has everything.
func TestANarrowViewComesTogetherAgain(t *testing.T) {
	n := newNarrow(t, simnet.Profile{Delay: 10 * time.Millisecond, Loss: .05}, 100)
	n.move(math.MaxInt32)
	for range 20 {
		n.move(300)
	}
	v := n.w.conn(n.clients[0]).endpoint.view
	if v.together {
		t.Error("it lacks most of what there is, and is together")
	}
	for range 20 {
		n.keepScore()
		n.tickAll()
	}
	if !v.together {
		t.Error("it is not together")
	}
	if err := n.differ(); err != nil {
		t.Error(err)
	}
}

// tickAll replicates without a limit and without changes.
func (n *narrow) tickAll() {
	n.w.mux.Advance(n.w.Now())
	n.w.conn(n.clients[0]).replicate(100_000, math.MaxInt32, ofNarrow)
	n.w.server.Poke()
	n.w.Pass(100 * time.Millisecond)
}

// A narrow path that takes all that there is costs a view that is together nothing: it stays so.
func TestANarrowPathThatTakesAllIsServedTogether(t *testing.T) {
	n := newNarrow(t, kit.Lan(), 20)
	for range 5 {
		n.move(1000)
	}
	if v := n.w.conn(n.clients[0]).endpoint.view; !v.together {
		t.Error("it is not together")
	}
	if len(n.packets) != 1 || n.seen(19) != n.tick {
		t.Errorf("%d packets were sent", len(n.packets))
	}
}

// Where a tick has several packets, the own entity is in the first, beside a variable of the game.
func TestTheOwnEntityIsInTheFirstPacket(t *testing.T) {
	n := newNarrow(t, kit.Lan(), 250)
	// The own one has the largest id, and would be the last.
	n.entities[0].Tag, n.entities[249].Tag = 249, 0
	n.keepScore()
	first := true
	n.w.Filter(func(p simnet.Packet) (v simnet.Verdict) {
		if _, ok := holds(FromServer, p.Bytes, KindReplicate); ok && p.From == n.w.server {
			v.Drop, first = !first, false
		}
		return v
	})
	n.move(2600)
	if n.seen(249) != n.tick {
		t.Error("it was not")
	}
	if v, ok := n.clients[0].Values().Value("score"); ok {
		t.Errorf("the score is %v, though its packet was dropped", v)
	}
}

func TestANarrowTickAllocatesNothing(t *testing.T) {
	n := newNarrow(t, kit.Lan(), 100)
	for range 20 {
		n.move(500)
	}
	c, m := n.w.conn(n.clients[0]), n.w.mux
	now, buf, value := n.w.Now(), make([]byte, 2048), make([]byte, 8)
	var ack []byte
	var p Packet
	packets := 0
	tick := func() {
		now = now.Add(50 * time.Millisecond)
		m.Advance(now)
		binary.LittleEndian.PutUint64(value, binary.LittleEndian.Uint64(value)+1)
		for _, e := range n.entities {
			e.Set(0, value)
		}
		c.replicate(4096, 500, ofNarrow)
		for k, to, ok := m.PollTransmit(buf); ok; k, to, ok = m.PollTransmit(buf) {
			eachPacket(&p, FromServer, buf[:k], func([]byte) {
				if p.Kind == KindReplicate {
					packets++
					ack = (&Packet{Kind: KindAck, Acked: p.Sequence}).AppendTo(ack[:0])
					m.HandleDatagram(now, to, ack)
				}
			})
		}
	}
	for range 10 {
		tick()
	}
	if got := testing.AllocsPerRun(100, tick); got != 0 && !kit.Race {
		t.Errorf("a tick allocates %v times", got)
	}
	if packets < 100 {
		t.Errorf("%d packets were sent", packets)
	}
}
