package world

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"parley/internal/promise"
)

// aimGame is the game of the tests, with inputs that look at the past: what was near, what was touched, and where the target was.
func aimGame() Game {
	g := testGame()
	g.Step = aimStep
	return g
}

func aimStep(w *World, in []Input) {
	for i := range in {
		if in := &in[i]; in.Kind == Act || in.Kind == Steer {
			aim(w, in)
		}
	}
	testStep(w, in)
}

// aim makes the state depend on all that a Past tells, and on its order.
func aim(w *World, in *Input) {
	own, a := Avatar[walker](w, in.Player)
	if a == nil {
		return
	}
	past := w.At(in.Shown)
	h := hash(uint64(a.steps), past.Tick())
	note := func(id ID, b Body) { h = hash(hash(h, uint64(id)), b.sum()+uint64(b.Sprite)) }
	for id, b := range past.Near(a.X, a.Y, 12) {
		note(id, b)
		if s := Get[sprout](w, id); s != nil {
			s.Age += uint16(h % 3)
		}
	}
	if b, ok := past.Body(own); ok {
		for id, other := range past.Touching(&b) {
			note(id, other)
		}
	}
	if b, ok := past.Body(a.Target); ok {
		note(a.Target, b)
	}
	a.steps = uint32(h >> 40)
}

// shownAt is a tick that a client may say was on its screen in an input for a tick: mostly one that is believed.
func shownAt(tick, back uint64) uint64 { return tick - min(tick, back) }

// A body is where it was published after the tick, for a quarter of a second.
func TestAtIsWhatWasPublished(t *testing.T) {
	g := testGame()
	var published []map[ID]Body
	asked := 0
	g.Step = func(w *World, in []Input) {
		testStep(w, in)
		now := w.Tick()
		for back := range uint64(9) {
			tick := shownAt(now, back)
			past := w.At(tick)
			if tick == 0 || back == 0 || back > 5 {
				if past.Tick() != now {
					t.Errorf("tick %d: At(%d) is of tick %d", now, tick, past.Tick())
				}
				continue
			}
			asked++
			want := map[ID]Body{}
			for id, b := range published[tick] {
				if w.Exists(id) {
					want[id] = b
				}
				if got, ok := past.Body(id); ok != w.Exists(id) || ok && got != b {
					t.Fatalf("tick %d: At(%d).Body(%v) is %+v %v, want %+v", now, tick, id, got, ok, b)
				}
			}
			got := map[ID]Body{}
			for id, b := range past.Near(20, 20, 1e9) {
				got[id] = b
			}
			if len(got) != len(want) || past.Tick() != tick {
				t.Fatalf("tick %d: At(%d).Near has %d bodies, want %d", now, tick, len(got), len(want))
			}
			near := 0
			for _, b := range past.Near(20, 20, 15) {
				if near++; Hypot(b.X-20, b.Y-20) > 15 {
					t.Fatal("not near")
				}
			}
			for _, b := range want {
				if Hypot(b.X-20, b.Y-20) <= 15 {
					near--
				}
			}
			if near != 0 {
				t.Fatalf("tick %d: At(%d).Near has %d bodies too many", now, tick, near)
			}
		}
		if past := w.At(now + 3); past.Tick() != now {
			t.Error("the future")
		}
	}
	s := newSimOf(t, g, Config{Seed: 9})
	a, b := join(t, s, "a"), join(t, s, "b")
	for i := range 80 {
		s.Steer(a, s.Tick(), steer(float32(i), 1), 0)
		s.Steer(b, s.Tick(), steer(float32(-i), 1.5), 0)
		s.Act(b, s.Tick(), s.Schema().ActionNamed("sow"), sowing(1, 0), 0)
		s.Advance()
		bodies := map[ID]Body{}
		s.World().Reindex()
		for id, b := range s.World().Near(0, 0, 1e9) {
			bodies[id] = b.seen()
		}
		published = append(published, bodies)
	}
	if asked < 300 {
		t.Errorf("asked %d times", asked)
	}
}

// What a client says that it was shown is believed within a quarter of a second before the tick of its input, or as long as the configuration says, and is 0 else.
func TestShown(t *testing.T) {
	g := testGame()
	var got []uint64
	g.Step = func(w *World, in []Input) {
		for i := range in {
			if in[i].Kind == Act || in[i].Kind == Steer {
				got = append(got, in[i].Shown)
			}
		}
		testStep(w, in)
	}
	for _, tt := range []struct {
		config Config
		most   uint64
	}{
		{Config{TickRate: 1}, 1}, {Config{}, 5}, {Config{TickRate: 30}, 8}, {Config{TickRate: 60}, 15}, {Config{MaxShownTicks: 9}, 9}, {Config{MaxShownTicks: -1}, 0},
	} {
		s := newSimOf(t, g, tt.config)
		p := join(t, s, "a")
		advance(s, 50)
		most := tt.most
		for _, tick := range []uint64{50, 48} {
			for shown, want := range map[uint64]uint64{
				0: 0, tick - 1: tick - 1, tick: 0, tick + 1: 0, 1<<64 - 1: 0, tick - most: tick - most, tick - most - 1: 0, 1: 0,
			} {
				if most == 0 {
					want = 0
				}
				got = got[:0]
				st, sow := steer(1, 1), s.Schema().ActionNamed("sow")
				wantReason(t, "steer", s.SteerShown(p, tick, shown, st, 0), Accepted)
				wantReason(t, "act", s.ActShown(p, tick, shown, sow, sowing(1, 0), 0), Accepted)
				m := s.history.at(tick)
				for _, in := range m.inputs[len(m.inputs)-2:] {
					got = append(got, in.Shown)
				}
				if !slices.Equal(got, []uint64{want, want}) {
					t.Errorf("%+v: shown %d in an input for %d is %d", tt.config, shown, tick, got)
				}
			}
		}
	}
}

// T71: "older format versions read". The file was made before inputs had a tick that was shown and snapshots had past states: a snapshot of
// testGame after 40 ticks, and the log of 10 more.
func TestALogOfBeforePastStates(t *testing.T) {
	promise.Keeps(t, "T71", "world", 1)
	file, err := os.ReadFile(filepath.Join("testdata", "version3.log"))
	if err != nil {
		t.Fatal(err)
	}
	g := testGame()
	g.Version = "one"
	const want = 0x27e80b981f560c73
	got, err := Replay(g, bytes.NewReader(file))
	if err != nil || got.Difference != nil || got.Ticks != 10 || got.Hash != want {
		t.Fatalf("%+v %v, %v", got, got.Difference, err)
	}
	s, _, err := Load(g, bytes.NewReader(file))
	if err != nil || s.Tick() != 40 || s.floor != 20 {
		t.Fatal(err)
	}
}
