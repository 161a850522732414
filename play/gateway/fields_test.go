package gateway

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/play/message"
	realmcore "parley/protocol/realm/core"
	stamp "parley/protocol/stamp/core"
	"parley/world"
)

// sign is an entity whose text and place change.
type sign struct {
	world.Body `parley:"speed=2"`
	Text       string `parley:"max=16"`
	Reads      uint32
	Lit        bool
}

// lamp is an entity whose floats are quantised.
type lamp struct {
	world.Body `parley:"q=1/256,min=-128,max=127.99,angle=256,norm=1/64"`
	Glow       float32 `parley:"q=0.5,min=0,max=100"`
}

// bell is nowhere, and has one field: no other kind has fewer.
type bell struct{ Rings uint32 }

// signGame has some signs. Every tick changes another of their fields.
func signGame() world.Game {
	g := pawnGame()
	step := g.Step
	g.Kinds = world.Kinds(pawn{}, sign{}, lamp{}, bell{})
	g.Step = func(w *world.World, in []world.Input) {
		for world.Count[sign](w) < 5 {
			world.Spawn(w, sign{Body: world.Body{X: float64(world.Count[sign](w)), Norm: 1}})
		}
		for world.Count[lamp](w) < 3 {
			world.Spawn(w, lamp{Body: world.Body{X: float64(world.Count[lamp](w)), Norm: 1}})
		}
		if world.Count[bell](w) == 0 {
			world.Spawn(w, bell{})
		}
		step(w, in)
		for _, b := range world.All[bell](w) {
			b.Rings++
		}
		for _, l := range world.All[lamp](w) {
			l.X, l.Glow = l.X+1.0/3, l.Glow+0.3
		}
		for _, s := range world.All[sign](w) {
			switch w.Tick() % 5 {
			case 0:
				s.Text = strings.Repeat("x", int(w.Tick()/5)%16)
			case 1:
				s.X += 2 // and not Y
			case 2:
				s.Y++
				s.Angle++
			case 3:
				s.Lit = !s.Lit
			default:
				s.Reads++
			}
		}
	}
	return g
}

func sum(f FieldBytes) (n uint64) {
	f.Each(func(bytes uint64, _ ...string) { n += bytes })
	return n
}

// The bytes that are counted of fields are those that are written: of records, which relay, stamp and duplex have, and of realm's blocks.
func TestFieldBytesAreThoseThatAreWritten(t *testing.T) {
	h, d := newDesk(t, Config{Game: signGame()})
	schema := h.main.sim.Schema()
	r, _, err := newRealm(h, RealmConfig{})
	if err != nil {
		t.Fatal(err)
	}
	d.sit("ann")
	view, records := h.main.sim.NewView(0, world.ViewConfig{Radius: -1, BytesPerTick: -1, Reliable: true, Copy: true}), newFieldCosts(schema, plainSize)
	var recorded, blocks uint64
	changes := 0
	for range 200 {
		ticks(t, h, 1)
		view.Update()
		for c := view.Next(); c != nil; c = view.Next() {
			changes++
			record, ok := message.AppendRecord(nil, c, message.Little, 1<<20)
			records.whole(c, 1)
			recorded += uint64(len(record) - stamp.RecordBytes)

			e := r.block(c)
			block, _, err := r.codec.AppendEntities(nil, e)
			if !ok || err != nil {
				t.Fatalf("a record: %v; a block: %v", ok, err)
			}
			n := len(block) - 3 // the number and the bits
			if e.Has&realmcore.HasType != 0 {
				n -= 2
			}
			if e.Has&realmcore.HasObject != 0 {
				n -= 2 // how many attributes
			}
			blocks += uint64(n)
			view.Take(0)
		}
	}
	if changes < 500 {
		t.Fatalf("%d changes", changes)
	}
	got := records.bytes(schema)
	if sum(got) != recorded {
		t.Errorf("%d bytes of records are counted, %d were written", sum(got), recorded)
	}
	if n := got.Of("sign", "reads"); n == 0 || n != 4*got.Of("sign", "lit") {
		t.Errorf("%d bytes of a field of 4, %d of one of 1", n, got.Of("sign", "lit"))
	}
	if x, glow := got.Of("lamp", "x"), got.Of("lamp", "glow"); x == 0 || x != 2*glow {
		t.Errorf("%d bytes of a field of 2, %d of one of 1", x, glow)
	}
	got = r.costs.bytes(schema)
	if sum(got) != blocks {
		t.Errorf("%d bytes of blocks are counted, %d were written", sum(got), blocks)
	}
	if x, y := got.Of("sign", "x"), got.Of("sign", "y"); x == 0 || x != y {
		t.Errorf("%d bytes of x, %d of y, which go together", x, y)
	}
	if got.Of("sign", "nonsense") != 0 || got.Of("nonsense", "x") != 0 {
		t.Error("fields that there are not have bytes")
	}
	if testing.AllocsPerRun(100, func() {
		records.whole(&world.Change{Kind: schema.Kinds[0], What: world.Left}, 2)
		records.masked(&world.Change{Kind: schema.Kinds[0], What: world.Left, Mask: 7})
	}) != 0 {
		t.Error("counting allocates")
	}
}

// A schema with many fields has maxFieldRows rows and one for all others, so that a game cannot make any number of series.
func TestFieldBytesAreBounded(t *testing.T) {
	for _, fields := range []int{0, 1, maxFieldRows - 1, maxFieldRows, maxFieldRows + 1, 10_000} {
		var f FieldBytes
		want := uint64(0)
		for i := range fields {
			f.rows = append(f.rows, fieldRow{"kind", fmt.Sprint(i), uint64(i)})
			want += uint64(i)
		}
		rows, others := 0, 0
		f.Each(func(_ uint64, labels ...string) {
			rows++
			if labels[0] == "(other)" {
				others++
			}
		})
		if rows > maxFieldRows+1 || rows < min(fields, maxFieldRows) || (others > 0) != (fields > maxFieldRows) || sum(f) != want {
			t.Errorf("%d fields: %d rows, %d of others, %d bytes of %d", fields, rows, others, sum(f), want)
		}
	}
}

// An input counts from its arrival until all players were told of the tick that took it. What is no input, and what comes from a connection that is
// not in the game, does not count.
func TestInputSecondsAreFromArrivalToPublishing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := newDesk(t, Config{})
		s := d.sit("ann")
		ticks(t, h, 1)
		d.stall = func() { time.Sleep(20 * time.Millisecond) } // in a bubble: publishing takes so long
		steer := request{seat: s, ask: askSteer, steer: world.Steering{Norm: 1, HasNorm: true}}
		d.inbox.put(steer)
		time.Sleep(10 * time.Millisecond)
		d.inbox.put(steer)
		d.inbox.put(request{seat: s, ask: askSay, line: []byte("hello")})
		d.inbox.put(request{seat: &Seat{dialect: d}, ask: askSteer})
		time.Sleep(5 * time.Millisecond)
		ticks(t, h, 2)
		count, sum, buckets := h.stats.InputSeconds.Histogram()
		if want := (35*time.Millisecond + 25*time.Millisecond).Seconds(); count != 2 || sum != want || buckets[.025] != 1 || buckets[.05] != 2 {
			t.Errorf("%d inputs waited %v s, want 2 and %v", count, sum, want)
		}
	})
}

// Inputs that are put off until their tick count when it is there.
func TestInputSecondsOfHeldInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, d := newDesk(t, Config{})
		s := d.sit("ann")
		ticks(t, h, 1)
		d.inbox.put(request{seat: s, ask: askSteer, tick: h.main.sim.Tick() + world.MaxAhead + 3, steer: world.Steering{Norm: 1, HasNorm: true}})
		for range 3 {
			if n := h.stats.InputSeconds.Count(); n != 0 {
				t.Errorf("%d inputs are published that are held", n)
			}
			time.Sleep(50 * time.Millisecond)
			ticks(t, h, 1)
		}
		time.Sleep(50 * time.Millisecond)
		ticks(t, h, 1)
		if count, sum, _ := h.stats.InputSeconds.Histogram(); count != 1 || sum < .15 || sum > .2 {
			t.Errorf("%d inputs waited %v s", count, sum)
		}
	})
}
