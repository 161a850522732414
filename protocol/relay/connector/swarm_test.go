package connector

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/protocol/relay/core"
	"parley/simnet"
)

var swarmHost = netip.AddrFrom4([4]byte{203, 0, 113, 1})

// swarm is one run of a game under faults: a server, and two to eight players that speak to it with
// relay's own endpoints.
type swarm struct {
	seed   uint64
	net    *simnet.Network
	rng    *rand.Rand
	lobby  *Lobby
	mux    *core.Mux
	hosts  map[*core.Port]*simnet.Host
	opened []*core.Port // in order of birth
	game   uint16       // the port of the game, once it is known
	actors []*actor
	lossy  bool // so lossy that a player may be taken for lost
	quiet  bool // nobody sends any more
	err    error
}

func newSwarm(seed uint64) *swarm {
	s := &swarm{seed: seed, net: simnet.New(seed), rng: rand.New(rand.NewPCG(seed, 11)), hosts: map[*core.Port]*simnet.Host{}}
	p := simnet.Profile{
		Delay: time.Duration(1+s.rng.IntN(100)) * ms, Jitter: time.Duration(s.rng.IntN(40)) * ms,
		Loss: s.rng.Float64() * 0.2, Duplicate: s.rng.Float64() * 0.25,
		Reorder: s.rng.Float64() * 0.2, ReorderBy: time.Duration(s.rng.IntN(300)) * ms,
	}
	if s.rng.IntN(3) == 0 {
		p.Loss /= 10
	}
	s.lossy = p.Loss > 0.04
	s.net.Default(p)
	s.lobby = NewLobby(Config{MaxPlayers: 8, PassForeign: true}, key)
	shared := &core.Shared{Rand: rand.New(rand.NewPCG(seed, 12))}
	s.mux = core.NewMux(s.net.Now(), s.lobby.serverConfig(), shared, key, s)
	s.add(s.mux.First(), mainPort)
	for i := range 2 + s.rng.IntN(7) {
		s.actors = append(s.actors, newActor(s, i))
	}
	if s.rng.IntN(2) == 0 {
		victim := s.actors[s.rng.IntN(len(s.actors))]
		s.net.After(time.Duration(2000+s.rng.IntN(10_000))*ms, "cut", func() { s.cut(victim, true) })
		s.net.After(time.Duration(12_000+s.rng.IntN(1500))*ms, "heal", func() { s.cut(victim, false) })
	}
	if s.rng.IntN(4) == 0 {
		victim := s.actors[1+s.rng.IntN(len(s.actors)-1)]
		s.net.After(time.Duration(8000+s.rng.IntN(8000))*ms, "crash", func() {
			victim.crashed = true
			victim.host.Crash()
		})
	}
	return s
}

// cut parts an actor from the server, for no longer than a package is resent.
func (s *swarm) cut(a *actor, off bool) {
	for _, p := range s.opened {
		if h := s.hosts[p]; off && s.net.Elapsed() > 10*time.Second {
			s.net.Partition(a.host, h, false)
		} else {
			s.net.Heal(a.host, h)
		}
	}
}

// OpenPort makes a swarm an opener.
func (s *swarm) OpenPort(p *core.Port) (uint16, error) {
	number := uint16(40000 + len(s.opened))
	s.add(p, number)
	return number, nil
}

func (s *swarm) add(p *core.Port, number uint16) {
	p.SetNumber(number)
	s.hosts[p] = s.net.Add(netip.AddrPortFrom(swarmHost, number), p).Named(fmt.Sprintf("port %d", number))
	s.hosts[p].AfterTurn(s.turn)
	s.opened = append(s.opened, p)
}

// turn is what a server's loop does at the end of a turn of any port.
func (s *swarm) turn(now time.Time) {
	s.mux.Advance(now)
	for _, _, ok := s.mux.PollEvent(); ok; _, _, ok = s.mux.PollEvent() {
	}
	for p, ok := s.mux.PollPort(); ok; p, ok = s.mux.PollPort() {
		h := s.hosts[p]
		if h.Poke(); p.Closed() {
			s.net.After(0, "closed", h.Crash)
		}
	}
}

func (s *swarm) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// play runs the whole life of a game.
func (s *swarm) play() error {
	s.net.SetLimits(simnet.Limits{Steps: 10_000_000})
	s.net.After(100*ms, "tick", s.tick)
	phase := func(what string, limit time.Duration, done func(a *actor) bool) {
		if s.err != nil {
			return
		}
		all := func() bool {
			for _, a := range s.actors {
				if !a.out() && !done(a) {
					return false
				}
			}
			return true
		}
		if err := s.net.RunUntil(func() bool { return s.err != nil || all() }, limit); err != nil {
			s.fail("%s: %w; %s", what, err, s.describe())
		}
	}
	phase("all play", 3*time.Minute, func(a *actor) bool { return a.saw == Initialized })
	phase("all was said", time.Minute, func(a *actor) bool { return a.said >= 40 })
	s.quiet = true
	phase("all arrives", 5*time.Minute, func(a *actor) bool { return a.heardAll() })
	if s.err != nil {
		return s.err
	}
	s.checkEnds()
	for _, a := range s.actors {
		a.leave()
	}
	phase("all leave", 3*time.Minute, func(a *actor) bool { return a.left })
	if s.err == nil {
		if err := s.net.RunUntil(s.empty, 10*time.Minute); err != nil {
			s.fail("nothing is left: %w; %d games, %d players, %d peers, %d strangers", err, s.lobby.Games(), s.lobby.Players(), s.mux.Len(), s.lobby.strangers.count)
		}
	}
	if st := s.lobby.Stats(); s.err == nil && (st.Check() != nil || st.Opened != st.Closed || st.Removed+st.Evicted != 0) {
		s.fail("%v: %+v", st.Check(), st)
	}
	if st := s.mux.Stats(); s.err == nil && st.Check() != nil {
		s.fail("%v", st.Check())
	}
	return s.err
}

// empty reports whether the server has nothing left of anybody.
func (s *swarm) empty() bool {
	for _, p := range s.opened[1:] {
		if !p.Closed() {
			return false
		}
	}
	return s.lobby.Games()+s.lobby.Players()+s.mux.Len()+s.lobby.strangers.count == 0
}

func (s *swarm) describe() string {
	var list []string
	for _, a := range s.actors {
		list = append(list, fmt.Sprintf("%d: player %d, saw %v, said %d, out %t", a.n, a.number, a.saw, a.said, a.out()))
	}
	return strings.Join(list, "; ")
}

// tick has everybody act.
func (s *swarm) tick() {
	for _, a := range s.actors {
		if !a.out() {
			a.act()
			a.host.Poke()
		}
	}
	s.net.After(time.Duration(20+s.rng.IntN(200))*ms, "tick", s.tick)
}

// checkEnds compares what players know of each other when all has arrived.
func (s *swarm) checkEnds() {
	gone := map[int]bool{}
	for _, a := range s.actors {
		if a.out() && a.number >= 0 {
			gone[a.number] = true
			if !a.crashed && !s.lossy {
				s.fail("player %d was lost", a.number)
			}
		}
	}
	for _, a := range s.actors {
		if a.out() {
			continue
		}
		for n := range gone {
			if !a.sawLeave[n] {
				s.fail("player %d does not know that %d is gone", a.number, n)
			}
		}
	}
}

// T21, T20: exactly once and in the sender's order, readiness that all come to, and nothing left
// behind. A seed gives one run.
func TestSwarm(t *testing.T) {
	lost := 0
	kit.Seeds(t, promise.Keeps(t, "T21 T20", "connector", kit.Rounds(2000, 100_000)), func(t *testing.T, seed uint64) {
		s := newSwarm(seed)
		if err := s.play(); err != nil {
			t.Fatalf("seed=%d: %v", seed, err)
		}
		for _, a := range s.actors {
			if a.out() && !a.crashed && !a.left {
				lost++
			}
		}
		if seed%50 == 0 {
			again := newSwarm(seed)
			if err := again.play(); err != nil || again.net.Hash() != s.net.Hash() {
				t.Fatalf("seed=%d: the second run is another: %v", seed, err)
			}
		}
	})
	t.Logf("%d players were taken for lost", lost)
}

// TestSeed runs one seed with its trace in a file: go test -run TestSeed -seed N, with
// PARLEY_TRACE set to the file.
func TestSeed(t *testing.T) {
	name := os.Getenv("PARLEY_TRACE")
	if name == "" {
		t.Skip("PARLEY_TRACE is not set")
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := newSwarm(kit.Seed(t))
	s.net.TraceTo(f)
	if err := s.play(); err != nil {
		t.Fatal(err)
	}
}
