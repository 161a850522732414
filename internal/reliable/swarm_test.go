package reliable

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/internal/serial"
	"parley/simnet"
)

// app sends a mix of messages through a peer and checks what arrives from the
// other side against the law of the rule.
type app struct {
	peer  *peer
	rule  Rule
	first uint64

	todo     []job
	ordered  uint32 // index of the next ordered message
	loose    uint32 // of the next unordered reliable one
	fleeting uint32 // of the next unreliable one

	gotOrdered  uint32
	gotLoose    map[uint32]bool
	gotFleeting map[uint32]bool
	gotNumbers  uint64 // reliable numbers delivered
	newest      uint64
	err         error
}

type job struct {
	size              int
	reliable, ordered bool
}

func newApp(p *peer, rule Rule, first uint64) *app {
	a := &app{peer: p, rule: rule, first: first, gotLoose: map[uint32]bool{}, gotFleeting: map[uint32]bool{}}
	p.handle = func(_ time.Time, m message) { a.got(m) }
	return a
}

// flush sends what the engine takes, in order.
func (a *app) flush(now time.Time) {
	for len(a.todo) > 0 {
		j := a.todo[0]
		index := &a.fleeting
		if j.ordered {
			index = &a.ordered
		} else if j.reliable {
			index = &a.loose
		}
		if a.peer.send(now, j.size, j.reliable, j.ordered, *index) != nil {
			return
		}
		*index++
		a.todo = a.todo[1:]
	}
}

func (a *app) turn(now time.Time) {
	a.peer.drain(now)
	a.flush(now)
}

func (a *app) got(m message) {
	if m.reliable {
		defer func() { a.gotNumbers++ }()
	}
	switch {
	case m.ordered && a.rule == Newest:
		if a.gotOrdered > 0 && m.number <= a.newest {
			a.fail("newest-only: number %d after %d", m.number, a.newest)
		}
		a.newest = m.number
		a.gotOrdered++
	case m.ordered:
		if m.index != a.gotOrdered {
			a.fail("ordered message %d came where %d was due", m.index, a.gotOrdered)
		}
		a.gotOrdered++
		if a.rule == Contiguous && a.gotNumbers < m.number-a.first {
			a.fail("number %d came before all earlier ones: %d of them had", m.number, a.gotNumbers)
		}
	case m.reliable:
		if a.gotLoose[m.index] {
			a.fail("message %d came twice", m.index)
		}
		a.gotLoose[m.index] = true
	default:
		if a.gotFleeting[m.index] {
			a.fail("unreliable message %d came twice", m.index)
		}
		a.gotFleeting[m.index] = true
	}
}

func (a *app) fail(format string, args ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, args...)
	}
}

// complete reports whether everything that other sent has arrived here.
func (a *app) complete(other *app) bool {
	return len(other.todo) == 0 && (a.rule == Newest || a.gotOrdered == other.ordered) && uint32(len(a.gotLoose)) == other.loose &&
		other.peer.sender.InFlight(0) == 0
}

// swarmRun runs one seed: two peers, a plan of faults, and 80 messages each way.
func swarmRun(seed uint64, rule Rule) (hash uint64, plan simnet.Plan, err error) {
	plan = simnet.RandomPlan(seed, []string{"a", "b"}, simnet.PlanLimits{Until: 20 * time.Second, MaxPartition: 10 * time.Second, MaxCrashes: -1})
	hash, err = swarmPlan(seed, rule, plan)
	return hash, plan, err
}

func swarmPlan(seed uint64, rule Rule, plan simnet.Plan) (uint64, error) {
	rng := newRand(seed)
	n := simnet.New(seed)
	n.Default(simnet.Profile{Delay: 10 * time.Millisecond})
	bits := []serial.Bits{serial.Bits16, serial.Bits24, serial.Bits32}[rng.IntN(3)]
	first := uint64(bits.Mask()) - rng.Uint64N(100)
	recv := &ReceiveConfig{Rules: [lanes]Rule{rule}}
	if rng.IntN(2) == 0 {
		recv.AckDelay = 20 * time.Millisecond
	}
	if rng.IntN(4) == 0 { // tiny limits: what is refused must not be acknowledged
		recv.MaxHeld, recv.MaxReady, recv.MaxHoles = 4096, 4096, 8
	}
	send := &SendConfig{GiveUpAfter: time.Hour, NoEarly: rng.IntN(4) == 0, NoCongestion: rng.IntN(4) == 0}
	mk := func(i uint64) *peer {
		to := addrB
		if i == 1 {
			to = addrA
		}
		return newPeer(n.Now(), peerConfig{bits: bits, first: first, send: send, recv: recv, rule: rule, seed: seed*2 + i}, to)
	}
	a, b := newApp(mk(0), rule, first), newApp(mk(1), rule, first)
	hostA, hostB := n.Add(addrA, a.peer).Named("a"), n.Add(addrB, b.peer).Named("b")
	hostA.AfterTurn(a.turn)
	hostB.AfterTurn(b.turn)
	if err := plan.Apply(n, nil, hostA, hostB); err != nil {
		return 0, err
	}
	for range 80 {
		for i, x := range []*app{a, b} {
			at := time.Duration(rng.Int64N(int64(20 * time.Second)))
			j := job{size: 20 + rng.IntN(500), reliable: true, ordered: rng.IntN(10) < 7 && rule != Unordered}
			if rule != Contiguous && rng.IntN(5) == 0 {
				j.reliable, j.ordered = false, false
			}
			host := []*simnet.Host{hostA, hostB}[i]
			n.After(at, "send", func() {
				x.todo = append(x.todo, j)
				x.flush(host.Now())
				host.Poke()
			})
		}
	}
	for i := range 120 { // so that a server learns where a rebound client is
		n.After(time.Duration(i)*500*time.Millisecond, "keep-alive", func() { b.peer.keepAlive(); hostB.Poke() })
	}
	if err := n.Run(20 * time.Second); err != nil {
		return 0, err
	}
	err := n.RunUntil(func() bool { return a.err != nil || b.err != nil || a.complete(b) && b.complete(a) }, 30*time.Second)
	if err != nil {
		err = fmt.Errorf("not delivered 30 s after the faults: %w (a lacks %s; b lacks %s)", err, a.lacks(b), b.lacks(a))
	}
	for _, x := range []*app{a, b} {
		err = firstError(x.err, err, x.peer.check(send, recv))
	}
	return n.Hash(), err
}

func (a *app) lacks(other *app) string {
	return fmt.Sprintf("%d of %d ordered, %d of %d unordered, %d unsent, %d in flight, sender: %v",
		other.ordered-a.gotOrdered, other.ordered, int(other.loose)-len(a.gotLoose), other.loose, len(other.todo), other.peer.sender.InFlight(0), other.peer.sender.Failed())
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// check holds the sums and bounds of one side.
func (p *peer) check(send *SendConfig, recv *ReceiveConfig) error {
	if err := firstError(p.sender.Check(), p.sender.checkWire(), p.receiver.Check()); err != nil {
		return err
	}
	if s := p.receiver.Stats(); s.Skipped > 0 || s.Violation > 0 {
		return fmt.Errorf("skipped %d, violations %d", s.Skipped, s.Violation)
	}
	if p.sender.InFlight(0) == 0 && (p.sender.bytes != 0 || p.sender.inFlight != 0) {
		return fmt.Errorf("nothing in flight, yet %d bytes kept and %d on the wire", p.sender.bytes, p.sender.inFlight)
	}
	return nil
}

var allRules = []Rule{Unordered, Linked, Contiguous, Patient, Newest}

// T10, T16, T19, T21 for the engine: whatever the network does, nothing is lost,
// duplicated or out of order, and everything has arrived 30 s after it stops.
func TestSwarm(t *testing.T) {
	for _, rule := range allRules {
		t.Run(rule.String(), func(t *testing.T) {
			t.Parallel()
			kit.Seeds(t, promise.Keeps(t, "T10 T16 T19 T21", "engine", tier(40, 2000, 100_000)), func(t *testing.T, seed uint64) {
				_, plan, err := swarmRun(seed, rule)
				if err != nil {
					t.Errorf("seed=%d: %v\n%s", seed, err, simnet.Report(seed, plan))
				}
			})
		})
	}
}

// T20: the same seed gives the same run, whatever the machine does meanwhile. What it logs last is
// the same on every processor: the gate compares amd64 with arm64.
func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	hashes := map[uint64][]uint64{}
	for _, procs := range []int{1, 2, 16} {
		was := runtime.GOMAXPROCS(procs)
		kit.Seeds(t, promise.Keeps(t, "T20", "engine", tier(8, 1000, 1000)), func(t *testing.T, seed uint64) {
			rule := allRules[seed%uint64(len(allRules))]
			hash, _, err := swarmRun(seed, rule)
			if err != nil {
				t.Errorf("seed=%d: %v", seed, err)
			}
			hashes[seed] = append(hashes[seed], hash)
		})
		runtime.GOMAXPROCS(was)
	}
	all := uint64(0)
	for seed, h := range hashes {
		for _, x := range h {
			if x != h[0] {
				t.Errorf("seed=%d: trace hashes %x", seed, h)
			}
		}
		all ^= h[0]
	}
	t.Logf("%d seeds: traces %016x", len(hashes), all)
}
