package picture

import (
	"errors"
	"testing"
	"time"

	"parley/arena"
	"parley/play/message"
	"parley/protocol/relay"
	relaycore "parley/protocol/relay/core"
	"parley/world"
)

// A ball that the server has confirmed flies on in each frame with its one ID while prediction stops and when it is back: the own body is
// despawned, there is no time to predict, or Step has failed.
func TestAnOwnBallOutlivesPrediction(t *testing.T) {
	for name, stop := range map[string]func(s *stage, busy *bool) (back func()){
		"the own body is gone": func(s *stage, _ *bool) func() { s.sim.World().Despawn(s.id()); return nil },
		"no time":              func(_ *stage, busy *bool) func() { *busy = true; return func() { *busy = false } },
		"Step has failed": func(s *stage, _ *bool) func() {
			s.mine.failed = errors.New("no")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			busy := false
			s := newStage(t, Config{Busy: func() bool { return busy }}, 0)
			s.throw(t, s.freely())
			for range 8 {
				s.tick()
			}
			first := s.balls()
			if len(first) != 1 || s.Stats().Adopted != 1 {
				t.Fatalf("the balls are %v; %d adopted", first, s.Stats().Adopted)
			}
			back := stop(s, &busy)
			for i := range 20 {
				if i == 10 && back != nil {
					back()
				}
				s.tick()
				if list := s.balls(); len(list) != 1 || list[0] != first[0] {
					t.Fatalf("after %d ticks the balls are %v, and it was %v", i, list, first[0])
				}
			}
			if rests := s.Stats().Rests; rests != 0 != (name == "no time") || rests > 1 {
				t.Errorf("%d rests are counted", rests)
			}
			if predicted := s.Frame(s.now).OwnTick != 0; predicted != (back != nil) {
				t.Errorf("at the end it is predicted: %v", predicted)
			}
			for range 30 {
				s.tick()
			}
			if list := s.balls(); len(list) != 0 {
				t.Errorf("the ball is over, and %v are drawn", list)
			}
		})
	}
}

// A ball that the server had not confirmed when prediction stopped is the server's ball from then on, also when prediction is back: it is never
// drawn twice, and has one ID.
func TestAnOwnBallThatPredictionLeaves(t *testing.T) {
	for ticks := range 12 {
		busy := false
		s := newStage(t, Config{Busy: func() bool { return busy }}, 0)
		s.late = 1
		s.throw(t, s.freely())
		busy = true
		var first world.ID
		for i := range 30 {
			busy = busy && i <= ticks
			s.tick()
			list := s.balls()
			if len(list) > 0 && first == 0 {
				first = list[0]
			}
			if len(list) > 1 || len(list) == 1 && list[0] != first || len(list) == 0 && first != 0 {
				t.Fatalf("without prediction for %d ticks, after %d: the balls are %v, and it was %v", ticks, i, list, first)
			}
		}
		if first == 0 {
			t.Errorf("without prediction for %d ticks: no ball was drawn", ticks)
		}
	}
}

// An own body that is gone is in no frame, predicted or not.
func TestAnOwnBodyThatIsGone(t *testing.T) {
	for name, c := range map[string]Config{"predicted": {}, "not predicted": {NoPrediction: true}} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, c, 0)
			s.sim.World().Despawn(s.id())
			for range 20 {
				s.tick()
			}
			if f := s.Frame(s.now); f.Own() != 0 || len(s.players()) != 0 {
				t.Errorf("the own entity is %v, and players %v are drawn", f.Own(), s.players())
			}
		})
	}
}

// A player without an entity, of a lobby or a board, is told no ticks: the players of the room, and all that is said after them, are told
// it two seconds after it has come.
func TestAPlayerWithoutAnEntityIsToldEvents(t *testing.T) {
	core, err := New(arena.Game(), Config{Name: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{Core: core, now: time.Unix(1000, 0)}
	s.Connected(s.now)
	s.relay = NewRelay(core, func(relay.Mode, relaycore.Target, []byte) error { return nil })
	w := message.World{TickRate: 20, Fingerprint: core.Schema().Fingerprint()}
	s.tell(message.RelayWorld, w.AppendTo(nil, message.Big))
	ann := message.Member{What: message.MemberHere, Name: "ann"}
	s.tell(message.RelayMembers, ann.AppendTo(nil, message.Big))
	s.tell(message.RelaySaid, message.AppendSaid(nil, "bob", []byte("hello")))
	var told []Event
	for range 60 {
		s.now = s.now.Add(50 * time.Millisecond)
		s.Frame(s.now)
		for ev, ok := s.PollEvent(); ok; ev, ok = s.PollEvent() {
			told = append(told, ev)
		}
	}
	if len(told) != 2 || told[0].Kind != Here || !told[0].Own || told[1].Text != "hello" {
		t.Errorf("it is told %+v", told)
	}
}

// A steer that the server would refuse as too fast is an error, and changes nothing.
func TestASteerThatIsTooFastSaysSo(t *testing.T) {
	s := newStage(t, Config{}, 0)
	for _, norm := range []float32{2.5, -1} {
		if err := s.Steer(s.now, 0, norm); err == nil || s.inputs.norm == norm {
			t.Errorf("a norm of %v: %v, and it steers at %v", norm, err, s.inputs.norm)
		}
	}
	if err := s.Steer(s.now, 0, 1); err != nil {
		t.Error(err)
	}
}
