package picture

import (
	"math"
	"testing"
	"time"

	"parley/arena"
	"parley/play/message"
	"parley/world"
)

// restart has the server killed and started again, with other players and numbers. Its ticks have come further than those that the client
// knows, if it is so.
func (s *stage) restart(t *testing.T, others int, ticks uint64) {
	t.Helper()
	sim, err := world.New(arena.Game(), world.Config{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	for range others {
		if _, err := sim.Join("new"); err != nil {
			t.Fatal(err)
		}
	}
	if s.me, err = sim.Join("me"); err != nil {
		t.Fatal(err)
	}
	for sim.Tick() < s.newest+ticks {
		sim.Advance()
	}
	s.Lost(s.now)
	s.now = s.now.Add(time.Second)
	s.Frame(s.now)
	s.sim, s.held, s.fate = sim, nil, message.Fate{}
	s.view = sim.NewView(s.me, world.ViewConfig{Radius: -1, BytesPerTick: -1})
	s.Connected(s.now)
	s.relay = NewRelay(s.Core, s.send)
}

// A server that was killed and started again numbers entities anew, and its ticks may be further than those that were known: nothing of
// before is in a frame once it has told its world, whatever it tells first.
func TestNoGhostsOfBefore(t *testing.T) {
	for name, first := range map[string]byte{"its world first": message.RelayWorld, "its entities first": message.RelayTick, "the session first": message.RelaySession} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, Config{}, 30)
			s.restart(t, 5, 20)
			if first == message.RelayTick {
				s.tick()
			}
			if first == message.RelaySession {
				s.Entered()
				if n := len(s.players()); n > 1 {
					t.Errorf("it is in, and %d players of before are drawn", n)
				}
			}
			w := message.World{Seed: 7, TickRate: 20, Tick: uint32(s.sim.Tick()), Fingerprint: s.sim.Schema().Fingerprint()}
			s.tell(message.RelayWorld, w.AppendTo(nil, message.Big))
			s.tell(message.RelayYou, message.AppendRelayYou(nil, s.own()))
			seen := 0
			for i := range 40 {
				seen = 0
				for id, p := range world.All[arena.Player](s.Frame(s.now).World()) {
					seen++
					is := s.sim.World().Body(s.sim.ByWire(uint16(id)))
					switch {
					case id == s.Frame(s.now).Own():
					case is == nil:
						t.Fatalf("after %d ticks: entity %d is drawn, and there is none", i, id)
					case math.Hypot(is.X-p.X, is.Y-p.Y) > 1:
						t.Fatalf("after %d ticks: entity %d is drawn at %.0f, %.0f, and is at %.0f, %.0f", i, id, p.X, p.Y, is.X, is.Y)
					}
				}
				s.tick()
			}
			if f := s.Frame(s.now); seen != 6 || f.Own() != world.ID(s.own()) || f.OwnTick == 0 {
				t.Errorf("%d are drawn, the own entity is %v at tick %v", seen, f.Own(), f.OwnTick)
			}
		})
	}
}

// players returns those of the frame.
func (s *stage) players() (ids []world.ID) {
	for id := range world.All[arena.Player](s.Frame(s.now).World()) {
		ids = append(ids, id)
	}
	return ids
}

// A player who is back after a restart may have another number. Its own news of being back, which the owner of the Core tells, is not told
// twice; that of another who has the number of before is told as another's.
func TestBackWithAnotherNumber(t *testing.T) {
	c, err := New(arena.Game(), Config{Name: "me"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	c.Connected(now)
	c.member(message.Member{What: message.MemberHere, Entity: 1, Name: "me#2"})
	c.you(1)
	c.Lost(now)
	c.Connected(now)
	c.events = nil
	c.member(message.Member{What: message.MemberBack, Entity: 2, Name: "me#2"})
	c.member(message.Member{What: message.MemberBack, Entity: 1, Name: "me"})
	if len(c.events) != 1 || c.events[0].Name != "me" || c.events[0].Own {
		t.Errorf("it is told %+v", c.events)
	}
}
