package gateway

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"parley/account"
	"parley/internal/patient"
	"parley/world"
)

// fromTest is an address of documents.
var fromTest = netip.MustParseAddr("192.0.2.1")

// A room that its game has ended has no part in the log any more.
func TestARoomThatEndsEndsItsPart(t *testing.T) {
	game := pawnGame()
	step := game.Step
	game.Step = func(w *world.World, inputs []world.Input) {
		step(w, inputs)
		for i := range inputs {
			if inputs[i].Kind == world.Steer {
				w.End("over")
			}
		}
	}
	f := newFleet(t, 1, Config{Game: game})
	s := f.comes(0, nil)
	var part *storePart
	f.quiet(0, func(r *Room, x *shared) {
		part = x.part.(*storePart)
		if wire := r.sim.Wire(r.entityOf(s.player)); wire == 0 || wire != s.number {
			t.Errorf("its entity has number %d, and %d was reserved for it", wire, s.number)
		}
	})
	f.ask(0, s, request{ask: askSteer})
	f.until("the part has ended", part.isClosed)
}

// Who waits to enter a room that ends is told so, and is not counted at its address any more: no entry of the log will answer.
func TestWhoEntersARoomThatEndsIsTold(t *testing.T) {
	f := newFleet(t, 1, Config{})
	f.deafen(0, true)
	var seats []*Seat
	for range 5 {
		seats = append(seats, f.knocks(0, func(s *Seat) { s.from = fromTest }))
	}
	f.until("they wait for the log", func() (wait bool) {
		f.quiet(0, func(_ *Room, x *shared) { wait = len(x.asked) >= 5 && f.hubs[0].crowd.Of(fromTest) == 5 })
		return wait
	})
	f.do(0, func() { f.hubs[0].end(f.hubs[0].main, errRoomClosed) })
	f.until("all were told", func() bool {
		left, told := 0, 0
		f.do(0, func() {
			left = f.hubs[0].crowd.Of(fromTest)
			for _, s := range seats {
				if s.kicked != nil {
					told++
				}
			}
		})
		return left == 0 && told == 5
	})
}

// A client that confirms its token again and again has the log asked once.
func TestATokenIsConfirmedOnce(t *testing.T) {
	f := newFleet(t, 1, Config{})
	s := f.knocks(0, nil)
	f.until("it is in", func() (in bool) { f.do(0, func() { in = s.player != nil }); return in })
	f.still(true)
	for range 20 {
		for range maxRequests {
			f.ask(0, s, request{ask: askKnown})
		}
		f.heard(0)
		f.quiet(0, func(_ *Room, x *shared) {
			if n := len(x.asked) + len(x.unasked); n > 1 {
				t.Fatalf("%d requests wait", n)
			}
		})
	}
}

// While the log stands still, players who ask for a hundred times as much as others keep nobody from asking for something, from coming in or from leaving,
// and what an honest player sends meanwhile is answered and not dropped.
func TestAFloodLeavesOthersTheirShare(t *testing.T) {
	f := newFleet(t, 1, Config{})
	var bad []*Seat
	for range 100 {
		bad = append(bad, f.knocks(0, nil))
	}
	honest, goes := f.comes(0, nil), f.comes(0, nil)
	f.until("all are in", func() bool {
		n := 0
		f.quiet(0, func(r *Room, _ *shared) { n = len(r.players) })
		return n == 103
	})
	f.still(true)
	f.quiet(0, func(*Room, *shared) { f.hubs[0].stats.DroppedInput = 0 })
	for round := range 30 {
		for _, s := range bad {
			for range 2 * maxRequests {
				f.ask(0, s, request{ask: askSteer})
			}
		}
		if round == 20 {
			f.do(0, func() { f.hubs[0].stats.DroppedInput = 0 })
		}
		f.heard(0)
	}
	f.quiet(0, func(_ *Room, x *shared) {
		for _, s := range bad {
			if s.wishes > maxWishesOf {
				t.Errorf("one has %d inputs that wait", s.wishes)
			}
		}
		if x.wishes > maxWishes || x.bytes > maxWishBytes || len(x.asked) > maxWishes+10 {
			t.Errorf("%d inputs of %d bytes wait, %d requests in all", x.wishes, x.bytes, len(x.asked))
		}
		if x.wishes < maxWishes/2 {
			t.Errorf("only %d inputs wait: this is no flood", x.wishes)
		}
	})
	f.ask(0, honest, request{ask: askSteer})
	f.ask(0, goes, request{ask: askLeave, bye: true})
	comes := f.knocks(0, nil)
	f.hubs[0].rouse()
	f.until("an honest player's input waits, and a leave does", func() bool {
		wishes, left := 0, false
		f.quiet(0, func(_ *Room, x *shared) { wishes, left = honest.wishes, goes.left && len(x.unasked) == 0 })
		return wishes == 1 && left
	})
	f.still(false)
	f.until("somebody else comes in, one is gone, and all is done", func() (done bool) {
		f.quiet(0, func(r *Room, x *shared) {
			done = comes.player != nil && len(r.players) == 103 && x.wishes == 0 && x.bytes == 0 && honest.wishes == 0
		})
		return done
	})
}

// What a player sends while the log stands still is not dropped for how long that takes.
func TestWhoPlaysInAnElectionIsAnswered(t *testing.T) {
	f := newFleet(t, 1, Config{})
	s := f.comes(0, nil)
	f.quiet(0, func(r *Room, x *shared) {
		x.eased = time.Now()
		s.handled = maxRequests // it has played for a while
	})
	f.still(true)
	f.until("it is heard again", func() (heard bool) {
		f.hubs[0].rouse()
		f.do(0, func() { heard = s.handled < maxRequests })
		return heard
	})
}

// Connections that go before the log has them count for their address until it has: they are players for a tick then, and take the places of others.
func TestGhostsCountForTheirAddress(t *testing.T) {
	f := newFleet(t, 1, Config{PerAddress: 4})
	f.deafen(0, true)
	for range 30 {
		s := f.knocks(0, func(s *Seat) { s.from = fromTest })
		f.until("it waits, or is refused", func() (answered bool) {
			f.do(0, func() { answered = s.entering || s.kicked != nil })
			return answered
		})
		f.ask(0, s, request{ask: askLeave})
		f.hubs[0].rouse()
		f.until("it has gone", func() (gone bool) { f.do(0, func() { gone = s.left }); return gone })
	}
	f.quiet(0, func(r *Room, x *shared) {
		if r.entering > 4 || f.hubs[0].stats.Crowded < 26 {
			t.Errorf("%d wait of an address that may have 4", r.entering)
		}
	})
	f.deafen(0, false)
	f.until("they have come and gone", func() (gone bool) {
		f.quiet(0, func(r *Room, x *shared) {
			gone = f.hubs[0].crowd.Of(fromTest) == 0 && len(r.players) == 1 && r.entering == 0 && len(x.asked) == 0 && r.sim.Tick() > 0
		})
		return gone
	})
}

// A player who was kicked does not come back at another server before its own has ended its connection.
func TestWhoIsKickedIsGoneEverywhere(t *testing.T) {
	f := newFleet(t, 2, Config{})
	s := f.comes(1, nil)
	id := s.player.ID
	f.until("the other server has it", func() (has bool) {
		f.quiet(0, func(r *Room, _ *shared) { at, ok := r.sim.Seat(id); has = ok && at.Known })
		return has
	})
	pass := f.session(1, s)
	held, goOn := make(chan struct{}), make(chan struct{})
	go f.hubs[1].Do(func() { close(held); patient.Value(goOn) })
	patient.Value(held) // its server is slow
	f.quiet(0, func(r *Room, _ *shared) { r.Kick(id, "go") })
	back := f.knocks(0, func(s *Seat) { s.pass = pass })
	f.until("it is refused", func() (refused bool) {
		f.do(0, func() {
			if back.player != nil {
				t.Fatal("it is back")
			}
			refused = back.kicked != nil
		})
		return refused
	})
	close(goOn)
	f.until("it is told why", func() (told bool) {
		f.do(1, func() { told = s.kicked != nil && s.kicked.Error() == "go" && s.left })
		return told
	})
	f.quiet(0, func(r *Room, _ *shared) {
		if r.players[id] != nil {
			t.Error("it is there")
		}
	})
}

// A player who comes back again and again is held to the rate of its address.
func TestWhoComesBackIsCounted(t *testing.T) {
	f := newFleet(t, 1, Config{PerAddress: 4})
	s := f.comes(0, func(s *Seat) { s.from = fromTest })
	pass := f.session(0, s)
	var all []*Seat
	began := time.Now()
	f.deafen(0, true)
	for range 100 {
		all = append(all, f.knocks(0, func(s *Seat) { s.from, s.pass = fromTest, pass }))
	}
	told := 0
	f.until("all were looked at", func() bool {
		told = 0
		f.do(0, func() {
			for _, s := range all {
				if s.kicked != nil || s.entering {
					told++
				}
			}
		})
		return told == len(all)
	})
	waits := 0
	f.do(0, func() {
		for _, s := range all {
			if s.entering {
				waits++
			}
		}
	})
	if most := leastJoins * (2 + int(time.Since(began)/time.Second)); waits == 0 || waits > most {
		t.Errorf("%d wait for the log, of an address that has %d a second", waits, leastJoins)
	}
}

// A player who goes and comes back counts once at its address, and as much when the address has no more places.
func TestWhoComesBackCountsOnce(t *testing.T) {
	f := newFleet(t, 1, Config{PerAddress: 2})
	f.comes(0, func(s *Seat) { s.from = fromTest })
	s := f.comes(0, func(s *Seat) { s.from = fromTest })
	for round := range 6 {
		pass := f.session(0, s)
		if round%2 == 0 {
			f.ask(0, s, request{ask: askLeave})
			f.until("it is away", func() (away bool) {
				f.quiet(0, func(r *Room, _ *shared) { away = len(r.away) == 1 })
				return away
			})
		}
		s = f.comes(0, func(s *Seat) { s.from, s.pass = fromTest, pass })
		f.quiet(0, func(*Room, *shared) {
			if n := f.hubs[0].crowd.Of(fromTest); n != 2 {
				t.Errorf("round %d: %d count, of 2", round, n)
			}
		})
	}
}

// A seat whose time is over is not taken from a player who has just come back.
func TestTheEndOfAHoldIsNotForWhoIsBack(t *testing.T) {
	f := newFleet(t, 1, Config{})
	s := f.comes(0, nil)
	p := s.player
	f.until("its client is known", func() (known bool) {
		f.quiet(0, func(r *Room, _ *shared) { at, _ := r.sim.Seat(p.ID); known = at.Known })
		return known
	})
	f.ask(0, s, request{ask: askLeave})
	f.until("it is away", func() (away bool) {
		f.quiet(0, func(r *Room, _ *shared) { away = len(r.away) == 1 })
		return away
	})
	now := uint64(0)
	f.quiet(0, func(r *Room, x *shared) {
		x.must(wishBack, append(appendWish(nil, wishBack, p.ID), make([]byte, 64)...)) // as of another server
		r.remove(p)
		now = r.sim.Tick()
	})
	f.until("both were done", func() (done bool) {
		f.quiet(0, func(r *Room, x *shared) { done = len(x.asked) == 0 && r.sim.Tick() > now+1 })
		return done
	})
	f.quiet(0, func(r *Room, _ *shared) {
		if at, ok := r.sim.Seat(p.ID); !ok || at.Away {
			t.Error("it was sent away")
		}
	})
}

// An account that comes in at two servers at once is there once: the newest has it.
func TestAnAccountIsThereOnce(t *testing.T) {
	f := newFleet(t, 2, Config{})
	bob := func(s *Seat) { s.account, s.name = true, "bob" }
	var seats []*Seat
	for i := range 6 {
		seats = append(seats, f.knocks(i%2, bob))
	}
	f.until("all have an answer", func() bool {
		in, out := 0, 0
		for i, s := range seats {
			f.do(i%2, func() {
				switch {
				case s.kicked != nil:
					out++
				case s.player != nil:
					in++
				}
			})
		}
		return in == 1 && out == 5
	})
	f.quiet(1, func(r *Room, _ *shared) {
		names := ""
		for p := range r.sim.World().Players() {
			names += fmt.Sprintf("%s ", p.Name)
			if p.Name != "guest-1" && account.NameKey(p.Name) != "bob" {
				t.Errorf("somebody is called %q", p.Name)
			}
		}
		if r.sim.Players() != 2 {
			t.Errorf("%d are there: %s", r.sim.Players(), names)
		}
	})
}

// A client that does not hear of its coming back gives up the try, with a goodbye, and makes the next: before the log has the first, or behind it.
// The session goes on, until a connection says goodbye that has its new token.
func TestATryThatIsGivenUpEndsNoSession(t *testing.T) {
	for _, late := range []bool{false, true} {
		f := newFleet(t, 1, Config{})
		s := f.comes(0, nil)
		id, pass := s.player.ID, f.session(0, s)
		isAway := func() (away bool) {
			f.quiet(0, func(r *Room, _ *shared) { at, ok := r.sim.Seat(id); away = ok && at.Away && at.Known })
			return away
		}
		f.until("its client is known", func() (known bool) {
			f.quiet(0, func(r *Room, _ *shared) { at, _ := r.sim.Seat(id); known = at.Known })
			return known
		})
		f.ask(0, s, request{ask: askLeave})
		f.until("it is away", isAway)

		f.deafen(0, late)
		try := f.knocks(0, func(s *Seat) { s.pass = pass })
		f.until("it waits, or is in", func() (on bool) {
			f.do(0, func() { on = try.entering && late || try.player != nil })
			return on
		})
		try.leave(true)
		f.hubs[0].rouse()
		f.until("it has given up", func() (gone bool) { f.do(0, func() { gone = try.left }); return gone })
		f.deafen(0, false)
		f.until("it is away again", func() (away bool) {
			f.quiet(0, func(r *Room, x *shared) {
				at, ok := r.sim.Seat(id)
				if !ok {
					t.Fatal("its session is over")
				}
				away = at.Away && len(x.asked) == 0
			})
			return away
		})

		back := f.comes(0, func(s *Seat) { s.pass = pass })
		if back.player.ID != id {
			t.Errorf("player %d is back as %d", id, back.player.ID)
		}
		back.leave(true)
		f.hubs[0].rouse()
		f.until("it has left", func() (left bool) {
			f.quiet(0, func(r *Room, _ *shared) { _, ok := r.sim.Seat(id); left = !ok })
			return left
		})
	}
}
