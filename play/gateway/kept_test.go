package gateway

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"parley/internal/patient"
	"parley/play/keep"
	"parley/play/message"
	"parley/world"
)

// keptServer is a hub with a desk that keeps its rooms.
type keptServer struct {
	h     *Hub
	d     *desk
	shelf *keep.Shelf
	stop  func()
}

func newKept(t *testing.T, dir string, mode keep.Mode, c Config) *keptServer {
	t.Helper()
	s := &keptServer{shelf: must(keep.Open(keep.Config{Dir: dir, Mode: mode}))}
	c.Shelf = s.shelf
	s.h, s.d = newDesk(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.h.Run(ctx) }()
	s.stop = func() {
		cancel()
		if err := patient.Value(ended); err != nil {
			t.Error(err)
		}
		ends(t, s.shelf.Close)
	}
	return s
}

// within asks the hub until something holds.
func (s *keptServer) within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	waitFor(t, func() {}, what, func() (ok bool) {
		if err := s.h.Do(func() { ok = holds() }); err != nil {
			t.Fatal(err)
		}
		return ok
	})
}

// resume has somebody show a token.
func (d *desk) resume(t message.Token) *Seat {
	s := d.chair()
	s.from = netip.MustParseAddr("192.0.2.1")
	s.pass = must(judgeAlone(s, message.AppendSessionPass(nil, t)))
	d.inbox.put(request{seat: s, ask: askEnter})
	return s
}

// judgeAlone reads a pass without a hub.
func judgeAlone(s *Seat, pass []byte) (*Pass, error) {
	g, err := newGatekeeper(nil, "", nil)
	if err != nil {
		return nil, err
	}
	return g.Judge(s.from, pass)
}

// A server that has ended goes on where it was: rooms, players who come back with their tokens, and those who are away.
func TestAKeptServerGoesOn(t *testing.T) {
	for _, mode := range []keep.Mode{keep.Second, keep.Tick} {
		t.Run(mode.String(), func(t *testing.T) {
			dir := t.TempDir()
			s := newKept(t, dir, mode, Config{TickRate: 100})
			if err := s.h.Do(func() { must(s.h.Open(Settings{Name: "duel", Mode: "two", Seed: 5})) }); err != nil {
				t.Fatal(err)
			}
			ann, bob, cyd := s.d.sit("ann"), s.d.chair(), s.d.sit("cyd")
			bob.wants = "duel"
			s.d.inbox.put(request{seat: bob, ask: askEnter, name: "bob"})
			s.within(t, "all are in", func() bool {
				return ann.player != nil && bob.player != nil && cyd.player != nil && s.h.main.entityOf(ann.player) != 0
			})
			for _, x := range []*Seat{ann, bob} { // cyd does not say that it has its token
				s.d.inbox.put(request{seat: x, ask: askKnown})
			}
			s.d.inbox.put(request{seat: ann, ask: askSteer, steer: world.Steering{HasAngle: true, HasNorm: true, Norm: 1}})
			var main, duel uint64
			s.within(t, "they can come back", func() bool {
				main, duel = s.h.main.Stats().Tick, s.h.Room("duel").Stats().Tick
				return ann.known && bob.known
			})
			var x float64
			var tick uint64
			s.within(t, "entries say so, and ann has walked", func() bool {
				p := world.Get[pawn](s.h.main.sim.World(), s.h.main.entityOf(ann.player))
				if p == nil {
					return false
				}
				x, tick = p.X, s.h.main.sim.Tick()
				return tick > main+1 && s.h.Room("duel").Stats().Tick > duel+1 && x > 9
			})
			s.stop()

			s = newKept(t, dir, mode, Config{TickRate: 100})
			s.within(t, "two are away", func() bool {
				duel := s.h.Room("duel")
				return duel != nil && duel.sim.World().Mode() == "two" && duel.Stats().Away == 1 && s.h.main.Stats().Away == 1 && s.h.main.sim.Tick() > tick
			})
			again, other := s.d.resume(ann.token), s.d.resume(bob.token)
			lost := s.d.resume(cyd.token)
			s.within(t, "they are back", func() bool { return again.player != nil && other.player != nil && lost.kicked != nil })
			s.within(t, "they are who they were", func() bool {
				p := world.Get[pawn](s.h.main.sim.World(), s.h.main.entityOf(again.player))
				if again.player.ID != ann.player.ID || again.player.Name != "ann" || other.player.ID != bob.player.ID || other.room.Name() != "duel" {
					t.Errorf("ann is %+v, bob is %+v", again.player, other.player)
				}
				if lost.kicked != RefusedSession || s.h.players != 2 {
					t.Errorf("who has no session is told %v, and %d are there", lost.kicked, s.h.players)
				}
				return p != nil && p.X >= x
			})
			s.stop()
		})
	}
}

// A second server on the folder says so, and a room of another game is left aside.
func TestAFolderIsOneServers(t *testing.T) {
	dir := t.TempDir()
	s := newKept(t, dir, keep.Second, Config{TickRate: 100})
	if _, err := keep.Open(keep.Config{Dir: dir, Mode: keep.Second}); err == nil || !strings.Contains(err.Error(), "another server uses the folder") {
		t.Errorf("a second server is told %v", err)
	}
	ann := s.d.sit("ann")
	s.within(t, "ann is in", func() bool { return ann.player != nil })
	s.stop()
	g := pawnGame()
	g.Name = "other pawns"
	s = newKept(t, dir, keep.Second, Config{TickRate: 100, Game: g})
	ann = s.d.sit("ann")
	s.within(t, "it is played all the same", func() bool { return ann.player != nil })
	if err := s.h.Degraded(); err == nil || !strings.Contains(err.Error(), "room main is left aside") {
		t.Errorf("what is wrong is %v", err)
	}
	s.stop()
}
