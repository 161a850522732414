package core

import (
	"fmt"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
)

// seenWorld is what a client knows of the world after some messages: by entity and field, the
// value and the tick that it is of.
type seenWorld map[string]string

func (w seenWorld) see(b []byte) {
	var m Message
	if !testCodec.Parse(FromServer, b, &m) {
		panic(fmt.Sprintf("%x", b))
	}
	set := func(e *Entity) {
		put := func(field string, v any) { w[fmt.Sprint(e.ID, " ", field)] = fmt.Sprint(v, " of tick ", m.Tick) }
		for _, f := range []struct {
			bit Has
			v   any
		}{{HasPosition, e.Position}, {HasSpeedAngle, e.SpeedAngle}, {HasSpeedNorm, e.SpeedNorm}, {HasType, e.Type}, {HasSprite, e.Sprite}} {
			if e.Has&f.bit != 0 {
				put(fmt.Sprint(f.bit), f.v)
			}
		}
		for id, v := range e.Attributes.All() {
			put(fmt.Sprint("attribute ", id), v.appendTo(nil))
		}
	}
	forget := func(id uint16) {
		for key := range w {
			var of uint16
			fmt.Sscan(key, &of)
			if of == id {
				delete(w, key)
			}
		}
	}
	switch m.Kind {
	case KindEntityCreate:
		forget(m.Entity.ID)
		set(&m.Entity)
	case KindEntityDestroy:
		forget(m.ID)
	case KindEntitiesUpdate:
		for e := range m.Entities.All() {
			set(e)
		}
	}
}

// Coalescing changes nothing of what a client knows in the end, ticks included; nor what is
// already being written, nor the order of all that is no update; and there is at most one
// value of each field left between two other messages about its entity.
func TestCoalescingKeepsTheNewestState(t *testing.T) {
	r := kit.Rand(t)
	s := &Shared{}
	merged := 0
	for range kit.Rounds(3000, 100_000) {
		var o outbox
		var others []string
		tick := uint16(r.Uint32())
		for range 1 + r.IntN(30) {
			tick++
			m := Message{Tick: tick}
			switch n := r.IntN(10); {
			case n == 0:
				m.Kind, m.Entity = KindEntityCreate, randomEntity(r)
				m.Entity.ID = uint16(r.IntN(4))
			case n == 1:
				m.Kind, m.ID = KindEntityDestroy, uint16(r.IntN(4))
			case n == 2:
				m.Kind, m.Text = KindChatReceive, []byte("hello")
			default:
				m.Kind = KindEntitiesUpdate
				var list []Entity
				for range r.IntN(4) {
					e := randomEntity(r)
					e.ID = uint16(r.IntN(4))
					list = append(list, e)
				}
				m.Entities, _ = testCodec.Entities(list...)
			}
			f := s.frame(testCodec, &m)
			if o.put(f); m.Kind != KindEntitiesUpdate {
				others = append(others, fmt.Sprintf("%x", f.b))
			}
			s.release(f)
		}
		var begun []byte
		if r.IntN(2) == 0 {
			first := *o.list.First()
			o.read = r.IntN(len(first.b))
			if o.read > 0 {
				begun = append(begun, first.b...)
			}
		}
		want, got := seenWorld{}, seenWorld{}
		before := o.held
		for i := range o.list.Len() {
			want.see((*o.list.At(i)).b)
		}
		o.coalesce(testCodec, s)
		merged += before - o.held
		held := 0
		var left []string
		for i := range o.list.Len() {
			f := *o.list.At(i)
			if i == 0 && begun != nil && string(f.b) != string(begun) {
				t.Fatalf("%x was being written, and is now %x", begun, f.b)
			}
			got.see(f.b)
			held += len(f.b) + frameOverhead
			if f.kind != KindEntitiesUpdate {
				left = append(left, fmt.Sprintf("%x", f.b))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(left) != fmt.Sprint(others) || held != o.held || held > before {
			t.Fatalf("got  %v\nwant %v\n%d held, counted %d, %d before\n%v\n%v", got, want, held, o.held, before, left, others)
		}
		o.close(s)
		if o.list.Len() != 0 || o.held != 0 {
			t.Fatalf("%d held after the end", o.held)
		}
	}
	if merged == 0 {
		t.Error("nothing was ever merged")
	}
}

// T11, T39: a client that reads nothing is sent the newest state only; its queue stays within
// the bound, and when it reads on it gets that state.
func TestASlowReaderGetsTheNewestState(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{})
	ann, bob := w.join("ann"), w.join("bob")
	ann.deaf = true
	bob.events = nil
	ticks := uint64(max(promise.Keeps(t, "T11 T39", "realm", kit.Rounds(20_000, 200_000)), 3000))
	for tick := range ticks {
		w.mux.BeginTick(w.now, tick)
		msg := updatesOf(tick, 10)
		if err := w.mux.Broadcast(&msg, nil); err != nil {
			t.Fatal(err)
		}
		w.drive()
		if ann.conn.endpoint.Queued() > 1<<20 || ann.conn.endpoint.State() != StatePlaying {
			t.Fatalf("tick %d: %d bytes are queued, and it is %v", tick, ann.conn.endpoint.Queued(), ann.conn.endpoint.State())
		}
		bob.events = bob.events[:0]
	}
	if ann.conn.Stats().Coalesced == 0 || ann.conn.endpoint.Queued() > 2*firstCoalesce {
		t.Errorf("%d bytes are queued: %+v", ann.conn.endpoint.Queued(), ann.conn.Stats())
	}
	ann.deaf = false
	w.mux.Unblock(w.now, ann.conn)
	w.drive()
	last := ann.events[len(ann.events)-1]
	for e := range last.Message.Entities.All() {
		if last.Tick != ticks-1 || e.Position.X != uint8((ticks-1)%256) {
			t.Errorf("tick %d, %+v", last.Tick, e)
		}
	}
}

// updatesOf is a tick's message about n entities.
func updatesOf(tick uint64, n int) Message {
	list := make([]Entity, n)
	for i := range list {
		list[i] = Entity{ID: uint16(i + 1), Has: HasPosition | HasSpeedAngle | HasSpeedNorm, Position: Position{X: uint8(tick), Y: uint8(i)},
			SpeedAngle: 1, SpeedNorm: 0.5}
	}
	entities, _ := testCodec.Entities(list...)
	return Message{Kind: KindEntitiesUpdate, Tick: uint16(tick), Entities: entities}
}

// T39: what cannot be merged overflows: the client is dropped with exit 2, and nobody else
// notices.
func TestAReaderThatIsTooSlowIsDropped(t *testing.T) {
	promise.Keeps(t, "T39", "realm", 1)
	w := newTown(t, kit.Rand(t), Config{})
	ann, bob := w.join("ann"), w.join("bob")
	ann.deaf = true
	said := 0
	for ann.conn.endpoint.State() == StatePlaying {
		if said++; said > 100_000 {
			t.Fatal("never dropped")
		}
		w.mux.Say(2, []byte("a line of chat that nobody can leave out"))
		w.drive()
		if ann.conn.endpoint.Queued() > 1<<20 {
			t.Fatalf("%d bytes are queued", ann.conn.endpoint.Queued())
		}
	}
	if got := bob.conn.endpoint.State(); got != StatePlaying {
		t.Error(got)
	}
	if ann.conn.endpoint.Queued() > 64<<10 {
		t.Errorf("%d bytes are queued after the end", ann.conn.endpoint.Queued())
	}
	// It reads on: the messages before, then the exit.
	ann.deaf = false
	w.mux.Unblock(w.now, ann.conn)
	w.drive()
	if c, over := ann.client.Over(); !over || c.Exit != ExitNetworkError || c.Reason != ReasonPeer {
		t.Error(c)
	}
	if c := w.game.ended[0]; c.Reason != ReasonOverflow {
		t.Error(c)
	}
}

// The same for one that never reads on: it ends when the linger time is over.
func TestAReaderThatNeverReadsEnds(t *testing.T) {
	w := newTown(t, kit.Rand(t), Config{MaxQueue: 4096})
	ann := w.join("ann")
	ann.deaf = true
	w.mux.Block(ann.conn)
	for ann.conn.endpoint.State() == StatePlaying {
		w.mux.Say(2, []byte("hello"))
	}
	w.advance(2e9)
	if ann.closed != 1 || w.mux.Len() != 0 {
		t.Errorf("%d ends, %d left", ann.closed, w.mux.Len())
	}
}

// What one reader that is too slow costs a tick at most: its queue is merged at 128 KiB, and then whenever it has doubled.
func BenchmarkCoalesce(b *testing.B) {
	s := &Shared{}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		var o outbox
		for tick := uint64(0); o.held <= firstCoalesce; tick++ {
			m := updatesOf(tick, 10)
			f := s.frame(testCodec, &m)
			o.put(f)
			s.release(f)
		}
		b.StartTimer()
		o.coalesce(testCodec, s)
		b.StopTimer()
		o.close(s)
		b.StartTimer()
	}
}
