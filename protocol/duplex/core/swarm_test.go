package core

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// swarm is one run under a plan of faults: a server whose elements change all the time, and
// players that connect again whenever their connection ends.
type swarm struct {
	*world
	seed    uint64
	plan    simnet.Plan
	lenient bool // the plan corrupts, so what arrives may not be what was sent
	calm    time.Time
	value   uint64
	players []*player
	reasons map[Reason]int
	joins   int
}

// player is a client over all its lives, and what the newest word on each element was.
type player struct {
	*client
	s      *swarm
	i      int
	lives  int
	onFeed map[int16]uint64
	onMain map[int16]uint64
	sent   uint64
	got    uint64 // at the server, of this life
	since  time.Time
}

const (
	swarmTick     = 200 * time.Millisecond
	swarmElements = 5
)

func newSwarm(seed uint64, limits simnet.PlanLimits, clients int) *swarm {
	if limits.MaxPartition == 0 {
		limits.MaxPartition = 5 * time.Second
	}
	return newPlanned(seed, simnet.RandomPlan(seed, swarmNames(clients), limits), clients)
}

func swarmNames(clients int) []string {
	names := []string{"server"}
	for i := range clients {
		names = append(names, fmt.Sprintf("client%d", i))
	}
	return names
}

// newPlanned is a swarm under a plan of the test's own.
func newPlanned(seed uint64, plan simnet.Plan, clients int) *swarm {
	s := &swarm{seed: seed, plan: plan, world: newWorld(nil, seed, Config{}, simnet.Profile{}), reasons: map[Reason]int{}}
	names := swarmNames(clients)
	for _, step := range s.plan.Steps {
		s.lenient = s.lenient || step.Profile.Corrupt > 0
	}
	s.calm = s.net.Now().Add(s.plan.Calm)
	hosts := []*simnet.Host{s.server}
	s.onEvent = s.serverEvent
	for i := range clients {
		p := &player{s: s, i: i}
		p.client = s.dial(100 * i)
		p.begin()
		p.client.host.Named(names[i+1])
		p.client.onEvent = p.event
		s.players = append(s.players, p)
		hosts = append(hosts, p.host)
	}
	if err := s.plan.Apply(s.net, s.restart, hosts...); err != nil {
		panic(err)
	}
	for _, p := range s.players {
		s.trouble(p)
	}
	s.net.After(swarmTick, "tick", s.tick)
	return s
}

// trouble has the mains of a player be slow, stall and break, until the calm.
func (s *swarm) trouble(p *player) {
	kind := s.rng.IntN(4) // each seed has only some of it
	var again func()
	again = func() {
		now := s.net.Now()
		if !now.Before(s.calm) {
			p.pipe.delay, p.pipe.jitter, p.pipe.stallUntil = 10*time.Millisecond, 0, time.Time{}
			return
		}
		switch s.rng.IntN(3) {
		case 0:
			if kind&1 == 0 {
				p.pipe.delay, p.pipe.jitter = time.Duration(s.rng.Int64N(int64(time.Second))), 500*time.Millisecond
			}
		case 1:
			if end := now.Add(time.Duration(s.rng.Int64N(int64(4 * time.Second)))); kind&1 == 0 && end.Before(s.calm) {
				p.pipe.stallUntil = end
			}
		case 2:
			if kind&2 == 0 {
				p.pipe.breakOff()
			}
		}
		s.net.After(time.Duration(s.rng.Int64N(int64(3*time.Second))), "trouble", again)
	}
	again()
	s.net.At(s.calm, "no more trouble", again)
}

// restart makes the node of a host that crashed. Its mains are dead.
func (s *swarm) restart(h *simnet.Host) simnet.Node {
	if h == s.server {
		clear(s.pipes)
		for _, p := range s.players {
			s.net.After(10*time.Millisecond, "reset", p.pipe.breakOff)
		}
		s.mux = NewMux(h.Now(), s.cfg, newShared(s.rng.Uint64()), keyOf(s.rng.Uint64()))
		return s.mux
	}
	for _, p := range s.players {
		if p.host == h {
			p.again()
			return p.Endpoint
		}
	}
	panic("no such host")
}

func (p *player) begin() {
	p.lives++
	p.onFeed, p.onMain = map[int16]uint64{}, map[int16]uint64{}
	p.sent, p.got = 0, 0
	p.since = p.s.net.Now()
}

// again begins a new life.
func (p *player) again() {
	p.pipe.breakOff()
	// A new feed is a new socket, so that nothing of the former life reaches it.
	addr := p.host.Addr()
	for p.s.net.Host(addr) != nil {
		addr = netip.AddrPortFrom(addr.Addr(), 2000+uint16(p.s.rng.IntN(60000)))
	}
	p.host.Rebind(addr)
	p.open(addr)
	p.begin()
}

// event holds what a client sees against the law: "no update older than the last delivered
// is ever seen".
func (p *player) event(ev Event) {
	switch ev.Kind {
	case EventUpdate, EventSync:
		if p.s.lenient || ev.SID == -1 {
			return
		}
		newest := p.onFeed
		if ev.Kind == EventSync {
			newest = p.onMain
		}
		v := binary.BigEndian.Uint64(ev.Data[1:])
		if v < newest[ev.SID] {
			p.s.fail("%s: %v of %d says %d after %d", p.host.Name(), ev.Kind, ev.SID, v, newest[ev.SID])
		}
		newest[ev.SID] = v
	case EventClosed:
		if ev.Close.Reason == 0 {
			p.s.fail("%s: an end without a reason", p.host.Name())
		}
		p.s.reasons[ev.Close.Reason]++
		old := p.Endpoint
		p.s.net.After(100*time.Millisecond, "dial again", func() {
			if p.Endpoint == old && p.host.Node() == simnet.Node(old) {
				p.again()
				p.host.Restart(p.Endpoint)
			}
		})
	}
}

// serverEvent holds what the server sees of a player against the same law.
func (s *swarm) serverEvent(c *Conn, ev Event) {
	switch ev.Kind {
	case EventJoined:
		s.joins++
	case EventUpdate:
		if s.lenient {
			return
		}
		for _, p := range s.players {
			if p.conn() != c {
				continue
			}
			v := binary.BigEndian.Uint64(ev.Data)
			if ev.SID != c.Player() || v <= p.got {
				s.fail("player %d said %d of %d after %d", c.Player(), v, ev.SID, p.got)
			}
			p.got = v
		}
	}
}

// tick has some elements change, come and go, and players speak, until the calm.
func (s *swarm) tick() {
	if s.net.Now().Before(s.calm) {
		s.net.After(swarmTick, "tick", s.tick)
	}
	if s.server.Node() != nil {
		s.mux.Advance(s.server.Now())
		for range 1 + s.rng.IntN(3) {
			sid := int16(100 + s.rng.IntN(swarmElements))
			if s.rng.IntN(20) == 0 {
				s.mux.Remove(sid)
				continue
			}
			s.value++
			if err := s.mux.Set(sid, valueOf(s.value)); err != nil {
				s.fail("%v", err)
			}
		}
		s.mux.Flush()
		s.server.Poke()
	}
	for _, p := range s.players {
		if p.host.Node() != nil && p.State() == StateOpen {
			p.sent++
			_ = p.Update(p.host.Now(), p.Player(), binary.BigEndian.AppendUint64(nil, p.sent))
			if s.rng.IntN(40) == 0 {
				_ = p.RequestSync(p.host.Now())
			}
			p.host.Poke()
		}
	}
}

// settled reports whether every player is in the game and knows just what is true.
func (s *swarm) settled() bool {
	truth := s.truth()
	for _, p := range s.players {
		c := p.conn()
		if p.State() != StateOpen || c == nil || !c.e.joined || s.pipes[c] == nil || !p.agrees(truth) {
			return false
		}
		// A SEQ that was corrupted to a high one makes a feed deaf; main goes on.
		if !s.lenient && (!p.FeedUp() || !c.FeedUp()) {
			return false
		}
	}
	return true
}

// swarmLate is until when datagrams of the time of faults may still come: these are faults
// too.
const swarmLate = 3 * time.Second

// run goes through all faults and waits for the calm after them.
func (s *swarm) run() error {
	if err := s.net.Run(s.plan.Calm + swarmLate); err != nil {
		return err
	}
	// Whoever is in the game by now knows what is true within one interval; the second is
	// for the way.
	there := map[*player]int{}
	for _, p := range s.players {
		if p.synced > 0 {
			there[p] = p.lives
		}
	}
	if err := s.net.Run(5*time.Second + time.Second); err != nil {
		return err
	}
	truth := s.truth()
	for p, lives := range there {
		if p.lives == lives && p.closed == nil && !p.agrees(truth) {
			s.fail("%s knows %x after one interval, and the truth is %x", p.host.Name(), p.state, truth)
		}
	}
	if err := s.net.RunUntil(func() bool { return s.err != nil || s.settled() }, 21*time.Second); err != nil && s.err == nil {
		return fmt.Errorf("%w: %s", err, s.describe())
	}
	if s.err == nil {
		s.err = s.net.Stats().Balance()
	}
	if stats := s.mux.Stats(); s.err == nil {
		s.err = stats.Check()
	}
	return s.err
}

func (s *swarm) describe() (text string) {
	for _, p := range s.players {
		text += fmt.Sprintf("%s %v in life %d, feed %t, knows %x; ", p.host.Name(), p.State(), p.lives, p.FeedUp(), p.state)
		if c := p.conn(); c != nil {
			text += fmt.Sprintf("the server has it %v, feed %t; ", c.e.State(), c.FeedUp())
		}
	}
	return fmt.Sprintf("%sthe truth is %x", text, s.truth())
}

// swarmClients is how many players a seed has: mostly few, now and then 32.
func swarmClients(seed uint64) int {
	if seed%100 == 99 {
		return 32
	}
	return 2 + int(seed%2)
}

// T21, T28: whatever happens to feeds and mains, nobody is told an older value after a newer
// one on the same channel, and once the faults have ended everybody is in the game and
// knows what is true within one resync interval. No run goes round in circles.
func TestSwarm(t *testing.T) {
	kit.Parts(t, promise.Keeps(t, "T21 T28", "duplex", kit.Rounds(2000, 100_000)), runSwarm)
}

func runSwarm(t *testing.T, first, seeds uint64) {
	reasons, joins := map[Reason]int{}, 0
	for seed := first; seed < first+seeds; seed++ {
		limits := simnet.PlanLimits{Until: 8 * time.Second, MaxCorrupt: -1}
		if seed%10 == 0 {
			limits.Until, limits.MaxPartition, limits.MaxCorrupt = 40*time.Second, 30*time.Second, 0
		}
		s := newSwarm(seed, limits, swarmClients(seed))
		if err := s.run(); err != nil {
			t.Fatalf("seed=%d: %v\n%s", seed, err, simnet.Report(seed, s.plan))
		}
		for r, n := range s.reasons {
			reasons[r] += n
		}
		joins += s.joins
	}
	t.Logf("%d seeds, %d times somebody joined, ends: %v", seeds, joins, reasons)
}

func TestSameSeedSameRun(t *testing.T) {
	kit.SameRun(t, "duplex", func(seed uint64) (*simnet.Network, error) {
		s := newSwarm(seed, simnet.PlanLimits{Until: 2 * time.Second}, 2)
		return s.net, s.net.Run(3 * time.Second)
	})
}

// Nothing breaks the law of the swarm in a long time over a bad network.
func TestSoak(t *testing.T) {
	kit.Soak(t, "duplex", func(seed uint64, plan simnet.Plan) error {
		s := newPlanned(seed, plan, 16)
		s.net.SetLimits(simnet.Limits{Steps: 1 << 40})
		defer func() { t.Logf("ends: %v", s.reasons) }()
		return s.run()
	})
}
