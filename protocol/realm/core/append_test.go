package core

import (
	"bytes"
	"testing"

	"parley/internal/kit"
	"parley/internal/promise"
)

// What is appended to a buffer is what has memory of its own, wherever it begins; a buffer that
// grows takes nothing away from those before; and what is refused leaves it as it was.
func TestAppendingIsTheSameAsMaking(t *testing.T) {
	r := kit.Rand(t)
	var buf []byte
	for range kit.Rounds(20_000, 200_000) {
		buf = append(buf[:0], "before"...)
		var blocks []Entity
		var done []Done
		for range r.IntN(4) {
			var e Entity
			var err error
			want := randomEntity(r)
			e = want
			if e.Has&HasObject != 0 {
				var list []Attribute
				for id, v := range want.Attributes.All() {
					list = append(list, Attribute{id, v})
				}
				if buf, e.Attributes, err = testCodec.AppendAttributes(buf, list...); err != nil {
					t.Fatal(err)
				}
				if n, _, err := testCodec.AppendAttributes(buf, append(list, Attribute{9, U16(1)})...); err != ErrUnknown || len(n) != len(buf) {
					t.Fatal(err)
				}
			}
			blocks = append(blocks, e)
			if got := e.appendTo(nil); !bytes.Equal(got, want.appendTo(nil)) {
				t.Fatalf("got  %x\nwant %x", got, want.appendTo(nil))
			}
			a := randomAction(r)
			var values []Value
			for _, v := range a.Params.All() {
				values = append(values, v)
			}
			var again Action
			if buf, again, err = testCodec.AppendAction(buf, a.ID, values...); err != nil {
				t.Fatal(err)
			}
			if n, _, err := testCodec.AppendAction(buf, a.ID, append(values, Value{})...); err != ErrType || len(n) != len(buf) {
				t.Fatal(err)
			}
			done = append(done, Done{By: uint16(r.Uint32()), Action: again})
		}
		var m Message
		var err error
		if buf, m.Entities, err = testCodec.AppendEntities(buf, blocks...); err != nil {
			t.Fatal(err)
		}
		if n, _, err := testCodec.AppendEntities(buf, append(blocks, Entity{Has: hasBit3})...); err != ErrValue || len(n) != len(buf) {
			t.Fatal(err)
		}
		if buf, m.Actions, err = testCodec.AppendActions(buf, done...); err != nil {
			t.Fatal(err)
		}
		if n, _, err := testCodec.AppendActions(buf, append(done, Done{Action: Action{ID: 9999}})...); err != ErrUnknown || len(n) != len(buf) {
			t.Fatal(err)
		}
		entities, _ := testCodec.Entities(blocks...)
		actions, _ := testCodec.Actions(done...)
		if !bytes.Equal(m.Entities.raw, entities.raw) || m.Entities.Len() != len(blocks) {
			t.Fatalf("entities: got %x, want %x", m.Entities.raw, entities.raw)
		}
		if !bytes.Equal(m.Actions.raw, actions.raw) || m.Actions.Len() != len(done) {
			t.Fatalf("actions: got %x, want %x", m.Actions.raw, actions.raw)
		}
		if !bytes.HasPrefix(buf, []byte("before")) {
			t.Fatalf("what was there is lost: %x", buf)
		}
		if buf = append(buf, 0xff); len(m.Actions.raw) > 0 && cap(m.Actions.raw) != len(m.Actions.raw) {
			t.Fatal("a list can be grown into what is behind it")
		}
		if r.IntN(4) == 0 {
			buf = nil
		}
	}
}

// T41: what a game says to each player alone, from fields to bytes on their way, allocates
// nothing if it is appended to buffers that are used again.
func TestTellingEachPlayerAllocatesNothing(t *testing.T) {
	promise.Keeps(t, "T41", "realm", 1)
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	w := newTown(t, kit.Rand(t), Config{MaxPlayers: 100})
	for range 20 {
		w.join("ann")
	}
	var (
		buf    []byte
		pairs  []Attribute
		blocks []Entity
		sent   int
		name   = []byte("name")
	)
	tell := func(c *Conn, tick uint16) {
		buf, blocks = buf[:0], blocks[:0]
		for id := range uint16(10) {
			e := Entity{ID: id, Has: HasPosition | HasSpeedAngle | HasObject, SpeedAngle: 1}
			pairs = append(pairs[:0], Attribute{1, U16(tick)}, Attribute{109, Str(name)})
			buf, e.Attributes, _ = testCodec.AppendAttributes(buf, pairs...)
			blocks = append(blocks, e)
		}
		m := Message{Kind: KindEntitiesUpdate, Tick: tick}
		buf, m.Entities, _ = testCodec.AppendEntities(buf, blocks...)
		if c.Send(&m) == nil && c.Send(&Message{Kind: KindEntityCreate, Tick: tick, Entity: blocks[0]}) == nil {
			sent++
		}
		done := Done{By: 1}
		buf, done.Action, _ = testCodec.AppendAction(buf, 7)
		m = Message{Kind: KindActionsDone, Tick: tick}
		buf, m.Actions, _ = testCodec.AppendActions(buf, done)
		if c.Send(&m) != nil {
			t.Fatal("not sent")
		}
	}
	tick := uint16(0)
	turn := func() {
		tick++
		for _, p := range w.people {
			tell(p.conn, tick)
		}
		for _, _, ok := w.mux.PollBytes(w.buf[:]); ok; _, _, ok = w.mux.PollBytes(w.buf[:]) {
		}
	}
	turn()
	if n := testing.AllocsPerRun(100, turn); n != 0 {
		t.Errorf("%v allocations a tick", n)
	}
	if want := int(tick) * len(w.people); sent != want {
		t.Errorf("%d of %d were sent", sent, want)
	}
}
