package gateway

import (
	"math"
	"slices"
	"testing"

	"parley/internal/kit/chance"
	"parley/play/message"
	"parley/world"
)

// pokes is a desk whose players send stamps. Each poke says its number.
type pokes struct {
	*testing.T
	h    *Hub
	d    *desk
	done map[uint32]poked // by number, of all players
	bad  int              // that were done twice
}

// poked is when a poke was done, and what was on the screen.
type poked struct{ tick, shown uint64 }

func newPokes(t *testing.T) *pokes {
	p := &pokes{T: t, done: map[uint32]poked{}}
	g := pawnGame()
	step := g.Step
	g.Step = func(w *world.World, in []world.Input) {
		for i := range in {
			if a, ok := world.Read[poke](&in[i]); ok {
				if _, twice := p.done[a.Amount]; twice {
					p.bad++
				}
				p.done[a.Amount] = poked{w.Tick(), in[i].Shown}
			}
		}
		step(w, in)
	}
	p.h, p.d = newDesk(t, Config{Game: g})
	return p
}

func (p *pokes) now() uint64 { return p.h.main.sim.Tick() }

// send has a player poke. What it says is its number.
func (p *pokes) send(s *Seat, stamp message.Stamp) bool {
	q := request{seat: s, ask: askAct, tag: stamp.Number, stamped: true, stamp: stamp, action: p.h.Schema().Actions[0]}
	q.params[0] = world.UintValue(world.U32, uint64(stamp.Number))
	q.params[1], q.params[2], q.params[3] = world.UintValue(world.Entity, 0), world.TextValue(""), world.FloatValue(world.F64, 0)
	return p.d.inbox.put(q)
}

func (p *pokes) fate(s *Seat) message.Fate {
	p.Helper()
	f, ok := s.fate()
	if !ok || uint64(f.Tick)+1 != p.now() {
		p.Fatalf("at tick %d the fate is %+v: %v", p.now(), f, ok)
	}
	return f
}

// An input is done at its tick, if that is at most 8 ahead; one that is late is done now. The fate has its number from then on, and
// says by how much it was early.
func TestAnInputIsDoneAtItsTick(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ahead  int64 // of the tick that is next
		after  uint64
		margin int8
	}{
		{"for the next tick", 0, 0, 0},
		{"for the one after", 1, 1, 1},
		{"for one that the world would take", 2, 2, 2},
		{"for one that it would not", 3, 3, 3},
		{"as far ahead as may be", 8, 8, 8},
		{"further", 9, 8, 9},
		{"much further", 1000, 8, 127},
		{"as far as the wire says", math.MaxInt32, 8, 127},
		{"one too late", -1, 0, -1},
		{"much too late", -20, 0, -20},
		{"before the world began", -100_000, 0, 127}, // it could as well be later
		{"before the numbers wrapped", 1 << 32, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPokes(t)
			s := p.d.sit("ann")
			ticks(t, p.h, 100)
			from := p.now()
			if _, ok := s.fate(); ok {
				t.Fatal("a client that sends no stamps is told a fate")
			}
			p.send(s, message.Stamp{Number: 1, Tick: uint32(int64(from) + tt.ahead)})
			want := tt.after
			if tt.ahead < -100 {
				want = 8
			}
			for range want {
				ticks(t, p.h, 1)
				if f := p.fate(s); f.Number != 0 || f.Margin != tt.margin || len(p.done) > 0 {
					t.Fatalf("at tick %d: %+v, done %v", p.now()-1, f, p.done)
				}
			}
			ticks(t, p.h, 1)
			if f, got := p.fate(s), p.done[1]; f.Number != 1 || f.Margin != tt.margin || got.tick != from+want {
				t.Errorf("from tick %d: %+v, done at %d, want %d", from, f, got.tick, from+want)
			}
			st := p.h.stats
			late, far := uint64(0), uint64(0)
			if tt.margin < 0 {
				late = 1
			} else if tt.margin > maxStampAhead {
				far = 1
			}
			if st.StampedInput != 1 || st.LateInput != late || st.FarInput != far || st.HeldInput+st.RepeatedInput+st.PushedInput > 0 {
				t.Errorf("the counters are %+v", st)
			}
			if !slices.Contains(p.d.refused, result{1, world.Accepted}) || len(s.held)+len(p.h.main.holders) > 0 {
				t.Errorf("the answers are %v, %d wait", p.d.refused, len(s.held))
			}
		})
	}
}

// A repeated number is done once, whenever it comes again, and the sender is answered.
func TestARepeatedNumberIsDoneOnce(t *testing.T) {
	p := newPokes(t)
	ann, bob := p.d.sit("ann"), p.d.sit("bob")
	ticks(t, p.h, 10)
	for range 3 {
		for range 2 {
			p.send(ann, message.Stamp{Number: 7, Tick: uint32(p.now() + 2)})
		}
		ticks(t, p.h, 1)
	}
	p.send(ann, message.Stamp{Number: 0, Tick: uint32(p.now())}) // they begin with 1
	p.send(ann, message.Stamp{Number: 5, Tick: uint32(p.now())}) // one before it, for the first time
	p.send(bob, message.Stamp{Number: 8, Tick: uint32(p.now())}) // another's
	ticks(t, p.h, 4)
	if p.bad > 0 || len(p.done) != 3 || p.h.stats.RepeatedInput != 6 || p.fate(ann).Number != 7 || p.fate(bob).Number != 8 {
		t.Errorf("done %v, %d twice; %+v", p.done, p.bad, p.h.stats)
	}
	ignored := 0
	for _, r := range p.d.refused {
		if r.why == world.Ignored {
			ignored++
		}
	}
	if ignored != 5 { // the tag of number 0 is none
		t.Errorf("the answers are %v", p.d.refused)
	}
}

// What is refused is in the fate like what is done.
func TestTheFateHasWhatWasRefused(t *testing.T) {
	p := newPokes(t)
	s := p.d.sit("ann")
	ticks(t, p.h, 10)
	p.d.inbox.put(request{seat: s, ask: askSteer, stamped: true, stamp: message.Stamp{Number: 3, Tick: uint32(p.now() + 1)}, steer: world.Steering{HasNorm: true, Norm: float32(math.NaN())}})
	p.d.inbox.put(request{seat: s, ask: askSteer, stamped: true, stamp: message.Stamp{Number: 2, Tick: uint32(p.now())}, steer: world.Steering{HasNorm: true, Norm: 1}})
	for i, want := range []uint32{2, 3} {
		ticks(t, p.h, 1)
		if f := p.fate(s); f.Number != want || f.Margin != 1 {
			t.Errorf("tick %d: %+v", i, f)
		}
	}
	if p.h.stats.RefusedInputs != 1 {
		t.Errorf("%d were refused", p.h.stats.RefusedInputs)
	}
}

// At most 32 inputs of a player wait. With one more the oldest is done at once.
func TestInputsThatWaitAreBounded(t *testing.T) {
	p := newPokes(t)
	s := p.d.sit("ann")
	ticks(t, p.h, 10)
	from := p.now()
	for i := range uint32(40) {
		p.send(s, message.Stamp{Number: i + 1, Tick: uint32(from + 5)})
	}
	ticks(t, p.h, 1)
	if len(s.held) != maxStamped || len(p.done) != 8 || p.h.stats.PushedInput != 8 || p.fate(s).Number != 8 {
		t.Fatalf("%d wait, %d are done; %+v", len(s.held), len(p.done), p.fate(s))
	}
	ticks(t, p.h, 5)
	for i := range uint32(40) {
		want := from
		if i >= 8 {
			want += 5
		}
		if got := p.done[i+1]; got.tick != want {
			t.Errorf("number %d is done at %d, want %d", i+1, got.tick, want)
		}
	}
	// A player who leaves takes what waits along.
	p.send(s, message.Stamp{Number: 50, Tick: uint32(p.now() + 5)})
	ticks(t, p.h, 1)
	p.d.inbox.put(request{seat: s, ask: askLeave})
	ticks(t, p.h, 10)
	if len(p.done) != 40 || len(p.h.main.holders)+len(s.held) > 0 {
		t.Errorf("%d are done, %d wait", len(p.done), len(s.held))
	}
}

// What was on the screen is believed if the client was sent it, and if it is not too old.
func TestWhatWasShownIsBelieved(t *testing.T) {
	for _, tt := range []struct {
		name     string
		ago      int64 // before the tick for which the input is meant
		ahead    uint64
		believed bool
	}{
		{"the newest", 1, 0, true},
		{"5 ticks ago", 5, 0, true},
		{"6 ticks ago", 6, 0, false},
		{"a tick to come", 0, 0, false},
		{"another", -3, 0, false},
		{"far ahead", -1 << 30, 0, false},
		{"long ago", 1 << 30, 0, false},
		{"the newest, for a later tick", 3, 2, true},
		{"one that will have been sent by then", 1, 2, false},
		{"one that will be too old by then", 6, 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPokes(t)
			s := p.d.sit("ann")
			ticks(t, p.h, 100)
			at := p.now() + tt.ahead
			shown := uint32(int64(at) - tt.ago)
			p.send(s, message.Stamp{Number: 1, Tick: uint32(at), Shown: shown})
			ticks(t, p.h, 4)
			want, doubts := poked{at, uint64(shown)}, uint64(0)
			if !tt.believed {
				want.shown, doubts = 0, 1
			}
			if got := p.done[1]; got != want || p.h.stats.DoubtedShown != doubts {
				t.Errorf("it is %+v, want %+v; %d doubts", got, want, p.h.stats.DoubtedShown)
			}
		})
	}
}

// A client that has just come was sent nothing: what it says to have seen is not believed.
func TestANewcomerHasSeenNothing(t *testing.T) {
	p := newPokes(t)
	p.d.sit("ann")
	ticks(t, p.h, 100)
	bob := p.d.sit("bob")
	p.send(bob, message.Stamp{Number: 1, Tick: uint32(p.now()), Shown: uint32(p.now() - 1)})
	ticks(t, p.h, 1)
	if got := p.done[1]; got.shown != 0 || p.h.stats.DoubtedShown != 1 {
		t.Errorf("it is %+v; %d doubts", got, p.h.stats.DoubtedShown)
	}
}

// Numbers are taken once each, across the wrap of 32 bits and across jumps, as a list of all that came has it.
func TestNumbersAreTakenOnce(t *testing.T) {
	r := chance.Rand(t, 0x5a)
	for range raced(200, 20) {
		var p stamps
		came := map[uint64]bool{}
		at := []uint64{1, 1000, 1<<32 - 500, 1 << 31}[r.IntN(4)]
		for range 3000 {
			switch n := r.IntN(1000); {
			case n == 0 && p.newest > 0:
				at += uint64(r.IntN(1 << 30)) // it jumps
			case n < 500:
				at++
			}
			number := at - min(at, uint64(r.IntN(3)*r.IntN(800)))
			known := p.newest != 0 && number+stampWindow <= p.newest || number == 0
			before := p.newest
			got, fresh := p.take(uint32(number))
			if got != number || fresh != (!known && !came[number]) || p.newest != max(before, number) && !known {
				t.Fatalf("%d after %d: taken as %d, fresh: %v, came before: %v", number, before, got, fresh, came[number])
			}
			came[number] = true
		}
	}
}

// Hostile stamps cost no more than others: whatever they say, each number is done once at most, none later than 8 ticks after it
// came, few wait, and another player's inputs are done at their ticks.
func TestHostileStamps(t *testing.T) {
	r := chance.Rand(t, 0x057)
	p := newPokes(t)
	eve, ann := p.d.sit("eve"), p.d.sit("ann")
	ticks(t, p.h, 10)
	came := map[uint32]uint64{}
	const anns = 1 << 30 // hers are from here on
	number, next := uint32(1), uint32(anns)
	due := map[uint32]uint64{}
	for range raced(2000, 400) {
		now := uint32(p.now())
		for range r.IntN(100) {
			switch r.IntN(40) {
			case 0:
				number += uint32(r.IntN(5000))
			case 1:
				number += uint32(r.IntN(100))
			default:
				number++
			}
			n := number - min(number-1, uint32(r.IntN(4)*r.IntN(4)))
			if r.IntN(50) == 0 {
				n = 1 + r.Uint32()%number // long ago
			}
			any := func() uint32 { return []uint32{now, now + 1, now + uint32(r.IntN(20)) - 10, r.Uint32()}[r.IntN(4)] }
			if _, ok := came[n]; p.send(eve, message.Stamp{Number: n, Tick: any(), Shown: any()}) && !ok {
				came[n] = p.now()
			}
		}
		next++
		due[next] = p.now() + uint64(r.IntN(9))
		p.send(ann, message.Stamp{Number: next, Tick: uint32(due[next]), Shown: now - 1})
		ticks(t, p.h, 1)
		if len(eve.held) > maxStamped || len(p.h.main.holders) > 2 {
			t.Fatalf("%d wait, of %d players", len(eve.held), len(p.h.main.holders))
		}
	}
	ticks(t, p.h, 10)
	for n, at := range due {
		if p.done[n].tick != at {
			t.Fatalf("ann's %d is done at %d, want %d", n, p.done[n].tick, at)
		}
	}
	for n, got := range p.done {
		if n < anns && (got.tick < came[n] || got.tick > came[n]+maxStampAhead+1) {
			t.Fatalf("number %d is done at %d, and came at %d", n, got.tick, came[n])
		}
	}
	st := p.h.stats
	if p.bad > 0 || st.RepeatedInput == 0 || st.LateInput == 0 || st.FarInput == 0 || st.PushedInput == 0 || st.DoubtedShown == 0 {
		t.Errorf("%d are done twice", p.bad)
	}
	t.Logf("%d done; stamped %d, repeated %d, late %d, far %d, pushed %d, doubted %d", len(p.done), st.StampedInput, st.RepeatedInput, st.LateInput, st.FarInput, st.PushedInput, st.DoubtedShown)
}

// Inputs with stamps, and their fates, allocate nothing.
func TestStampsAllocateNothing(t *testing.T) {
	p := newPokes(t)
	s := p.d.sit("ann")
	ticks(t, p.h, 10)
	number := uint32(0)
	tick := func() {
		number++
		p.d.inbox.put(request{seat: s, ask: askSteer, stamped: true, stamp: message.Stamp{Number: number, Tick: uint32(p.now() + 2), Shown: uint32(p.now() - 1)}, steer: world.Steering{HasNorm: true, Norm: 1}})
		ticks(t, p.h, 1)
		s.fate()
	}
	plain := testing.AllocsPerRun(200, func() {
		p.d.inbox.put(request{seat: s, ask: askSteer, steer: world.Steering{HasNorm: true, Norm: 1}})
		ticks(t, p.h, 1)
	})
	for range 50 {
		tick()
	}
	if n := testing.AllocsPerRun(200, tick); n > plain {
		t.Errorf("%v allocations a tick, without stamps %v", n, plain)
	}
}
