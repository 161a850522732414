package gateway

import (
	"testing"
	"time"

	"parley/world"
)

// A server that is alone in its room tells its players of ticks that the log does not have yet. If the log never has them, as another server has taken
// the room, all who were told connect again, come back as who they are, and find what they asked for; who follows the room is not told of them.
func TestWhatTheLogNeverHadIsUndone(t *testing.T) {
	f := newFleetAhead(t, 2, 300*time.Millisecond, Config{})
	s := f.comes(0, nil)
	id := s.player.ID
	f.until("its client is known", func() (known bool) {
		f.quiet(0, func(r *Room, _ *shared) { at, _ := r.sim.Seat(id); known = at.Known })
		return known
	})
	f.until("it is ahead", func() (ahead bool) {
		f.quiet(0, func(_ *Room, x *shared) { ahead = x.part.Ahead() > 0 })
		return ahead
	})

	f.deafen(0, true)
	var src *source
	top := uint64(0)
	f.quiet(0, func(r *Room, x *shared) {
		src, top = r.offer(), r.sim.Tick()
		if x.durable() > top-uint64(x.part.Ahead()) {
			t.Errorf("%d ticks are ahead of the log at tick %d, and facts are told below tick %d", x.part.Ahead(), top, x.durable())
		}
	})
	f.ask(0, s, request{ask: askSay, line: []byte("hello")})
	late := f.comes(0, nil) // in a tick that is lost
	pass, latePass, lateID := f.session(0, s), f.session(0, late), late.player.ID
	f.until("it stands still", func() (still bool) {
		f.quiet(0, func(r *Room, x *shared) { still = x.part.Ahead() > 40 })
		return still
	})
	if list, _ := src.tap.facts(); len(list) > 0 {
		t.Errorf("%v was told, and the log does not have it", list)
	}

	f.begins()
	f.until("the other has the room", func() (yes bool) {
		f.quiet(1, func(r *Room, x *shared) { yes = x.sequences() && r.sim.Tick() > top+100 })
		return yes
	})
	f.deafen(0, false)
	f.until("its players are told to connect again", func() (told bool) {
		f.do(0, func() { told = s.kicked != nil && late.kicked != nil })
		return told
	})
	f.do(0, func() {
		if s.kicked != errDrained || late.kicked != errDrained || s.player.seat != nil {
			t.Errorf("they are told %v and %v", s.kicked, late.kicked)
		}
	})
	f.until("it has joined", func() (joined bool) {
		f.quiet(0, func(r *Room, _ *shared) { _, joined = r.sim.Seat(lateID); joined = joined && r.players[lateID] != nil })
		return joined
	})
	f.knows(0)
	if back := f.comes(0, func(s *Seat) { s.pass = pass }); back.player.ID != id {
		t.Errorf("player %d is back as %d", id, back.player.ID)
	}
	if back := f.comes(1, func(s *Seat) { s.pass = latePass }); back.player.ID != lateID {
		t.Errorf("player %d is back as %d", lateID, back.player.ID)
	}
	var list []world.Fact
	f.until("the line is told", func() bool {
		more, ended := src.tap.facts()
		if ended {
			t.Fatal("the room has ended")
		}
		list = append(list, more...)
		return countOf(list, world.FactSaid) > 0 && countOf(list, world.FactJoined) > 0
	})
	f.until("it is final", func() (yes bool) {
		f.quiet(0, func(r *Room, _ *shared) { yes = r.sim.Final() > list[len(list)-1].Tick+50 })
		return yes
	})
	more, _ := src.tap.facts()
	if list = append(list, more...); countOf(list, world.FactSaid) != 1 || countOf(list, world.FactJoined) != 1 {
		t.Errorf("%+v: want one line and one who joins", list)
	}
}

func countOf(list []world.Fact, kind world.FactKind) (n int) {
	for i := range list {
		if list[i].Kind == kind {
			n++
		}
	}
	return n
}

// A server whose room stands still goes on telling the others who is connected to it.
func TestAServerThatStandsStillClaimsItsPlayers(t *testing.T) {
	f := newFleet(t, 2, Config{})
	s := f.comes(1, nil)
	id := s.player.ID
	f.deafen(0, true)
	f.deafen(1, true)
	began := time.Now()
	f.until("it is heard of for three seconds without a tick", func() (yes bool) {
		f.quiet(0, func(_ *Room, x *shared) { yes = x.heard[id].After(began.Add(3 * time.Second)) })
		return yes
	})
}

// A server that was just started, and runs all since the room began, turns nobody away whom it does not know yet: it tells them to come again.
func TestAServerThatHasMissedMuchJudgesNobody(t *testing.T) {
	f := newFleetAhead(t, 2, 0, Config{})
	s := f.comes(0, nil)
	id, token := s.player.ID, *f.session(0, s)
	stuck := func(is bool) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.nodes[1].stuck = is
	}
	stuck(true)
	f.begins()
	pass := token
	early := f.knocks(1, func(s *Seat) { s.pass = &pass })
	f.until("it has an answer", func() (told bool) {
		f.do(1, func() { told = early.kicked != nil || early.player != nil })
		return told
	})
	f.do(1, func() {
		if early.kicked != error(RefusedBusy) {
			t.Errorf("it is told %v, want %v", early.kicked, RefusedBusy)
		}
	})
	stuck(false)
	f.knows(1)
	if back := f.comes(1, func(s *Seat) { s.pass = &token }); back.player.ID != id {
		t.Errorf("player %d is back as %d", id, back.player.ID)
	}
}
