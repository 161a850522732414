package simnet

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestATurnIsHandleThenAfterTurnThenTransmitThenTimeout(t *testing.T) {
	var order []string
	n := New(1)
	node := &recorder{order: &order}
	h := n.Add(addr(1), node)
	h.AfterTurn(func(now time.Time) { order = append(order, "after") })
	n.Inject(addr(9), addr(1), []byte("x"))
	if err := n.Run(time.Second); err != nil {
		t.Fatal(err)
	}
	want := "after transmit next datagram after transmit next timeout after transmit next"
	if got := strings.Join(order, " "); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

// recorder writes down the order of its calls; a datagram sets a timeout.
type recorder struct {
	order *[]string
	next  time.Time
}

func (r *recorder) HandleDatagram(now time.Time, _ netip.AddrPort, _ []byte) {
	*r.order = append(*r.order, "datagram")
	r.next = now.Add(time.Millisecond)
}

func (r *recorder) HandleTimeout(time.Time) {
	*r.order = append(*r.order, "timeout")
	r.next = time.Time{}
}

func (r *recorder) NextTimeout() (time.Time, bool) {
	*r.order = append(*r.order, "next")
	return r.next, !r.next.IsZero()
}

func (r *recorder) PollTransmit([]byte) (int, netip.AddrPort, bool) {
	*r.order = append(*r.order, "transmit")
	return 0, netip.AddrPort{}, false
}

func TestWhatAfterTurnSendsGoesInTheSameTurn(t *testing.T) {
	x := newPair(t, 1, Profile{})
	x.hb.AfterTurn(func(time.Time) {
		for range x.b.got {
			x.b.send(addr(1), "answer")
			x.hb.Poke() // does nothing here
		}
		x.b.got = nil
	})
	x.sendAt(time.Second, "question")
	x.run(time.Second)
	if want := []arrived{{epoch.Add(time.Second), addr(2), "answer"}}; !slices.Equal(x.a.got, want) {
		t.Fatalf("got %v", x.a.got)
	}
}

func TestTimeoutsComeWhenAskedForAndThoseInThePastAtOnce(t *testing.T) {
	x := newPair(t, 1, Profile{})
	x.a.next, x.a.every = epoch.Add(10*time.Millisecond), 10*time.Millisecond
	x.b.next = epoch.Add(-time.Hour)
	x.run(35 * time.Millisecond)
	want := []time.Time{epoch.Add(10 * time.Millisecond), epoch.Add(20 * time.Millisecond), epoch.Add(30 * time.Millisecond)}
	if !slices.Equal(x.a.timeouts, want) {
		t.Errorf("got %v", x.a.timeouts)
	}
	if !slices.Equal(x.b.timeouts, []time.Time{epoch}) {
		t.Errorf("in the past: got %v", x.b.timeouts)
	}
	x.a.every, x.a.next = 0, time.Time{}
	x.ha.Poke()
	x.run(time.Second)
	if len(x.a.timeouts) != 3 {
		t.Errorf("a timeout that was taken back came all the same")
	}
}

func TestATimeoutKeepsItsPlaceInAnInstantWhenItIsAskedForAgain(t *testing.T) {
	x := newPair(t, 1, Profile{Delay: 10 * time.Millisecond})
	var order []string
	x.b.onTime = func(time.Time) { order = append(order, "timeout") }
	x.b.onData = func(time.Time, netip.AddrPort, []byte) { order = append(order, "datagram") }
	x.b.next = epoch.Add(11 * time.Millisecond)
	x.sendAt(time.Millisecond, "x")
	x.After(5*time.Millisecond, "again", func() { x.hb.Poke() })
	x.run(time.Second)
	if !slices.Equal(order, []string{"timeout", "datagram"}) {
		t.Fatalf("got %v", order)
	}
}

func TestAPartitionCutsOneWayOrBothAndWhatIsUnderWayArrives(t *testing.T) {
	for _, oneWay := range []bool{true, false} {
		x := newPair(t, 1, Profile{Delay: 10 * time.Millisecond})
		x.b.onData = func(_ time.Time, _ netip.AddrPort, b []byte) { x.b.send(addr(1), "re "+string(b)) }
		for i := range 5 {
			x.sendAt(time.Duration(i)*100*time.Millisecond, fmt.Sprint(i))
		}
		x.After(105*time.Millisecond, "cut", func() { x.Partition(x.hb, x.ha, oneWay) })
		x.After(305*time.Millisecond, "heal", func() { x.Heal(x.ha, x.hb) })
		x.run(time.Second)
		wantB, wantA := []string{"0", "1", "2", "3", "4"}, []string{"re 0", "re 3", "re 4"}
		if !oneWay {
			wantB = []string{"0", "1", "4"}
			wantA = []string{"re 0", "re 4"}
		}
		if !slices.Equal(x.b.texts(), wantB) || !slices.Equal(x.a.texts(), wantA) {
			t.Errorf("one way %v: b got %q, a got %q", oneWay, x.b.texts(), x.a.texts())
		}
		wantCut := uint64(2)
		if !oneWay {
			wantCut = 3
		}
		if got := x.Stats().Partitioned; got != wantCut {
			t.Errorf("one way %v: %d counted, want %d", oneWay, got, wantCut)
		}
	}
}

func TestARebindMovesTheSenderAndKillsTheOldAddress(t *testing.T) {
	x := newPair(t, 1, Profile{Delay: 10 * time.Millisecond})
	x.b.onData = func(_ time.Time, from netip.AddrPort, b []byte) { x.b.send(from, "re "+string(b)) }
	x.sendAt(0, "before") // its answer is under way to the old address when that dies
	x.After(15*time.Millisecond, "rebind", func() { x.ha.Rebind(addr(77)) })
	x.sendAt(20*time.Millisecond, "after")
	x.After(50*time.Millisecond, "to the dead address", func() {
		x.b.send(addr(1), "ghost")
		x.hb.Poke()
	})
	x.run(time.Second)
	if got := []netip.AddrPort{x.b.got[0].from, x.b.got[1].from}; !slices.Equal(got, []netip.AddrPort{addr(1), addr(77)}) {
		t.Errorf("b saw %v", got)
	}
	if got := x.a.texts(); !slices.Equal(got, []string{"re after"}) {
		t.Errorf("a got %q", got)
	}
	if s := x.Stats(); s.NoHost != 2 {
		t.Errorf("%+v", s)
	}
	if x.ha.Name() != "a" || x.ha.Addr() != addr(77) || x.Host(addr(1)) != nil {
		t.Errorf("host %s at %v", x.ha.Name(), x.ha.Addr())
	}

	heir := new(toy) // the old address is free, and who takes it is heard and spoken to
	x.Add(addr(1), heir)
	x.b.send(addr(1), "for the heir")
	x.hb.Poke()
	x.run(time.Second)
	if got := heir.texts(); !slices.Equal(got, []string{"for the heir"}) {
		t.Errorf("the heir got %q", got)
	}
}

func TestASkewedHostSeesItsOwnTimeAndItsTimeoutsFollowIt(t *testing.T) {
	x := newPair(t, 1, Profile{})
	x.ha.Skew(500)
	x.a.next, x.a.every = epoch.Add(time.Second), time.Second
	var network []time.Duration
	x.a.onTime = func(time.Time) { network = append(network, x.Elapsed()) }
	x.run(3 * time.Second)
	if len(x.a.timeouts) != 3 {
		t.Fatalf("%d timeouts", len(x.a.timeouts))
	}
	for i, own := range x.a.timeouts {
		due := time.Duration(i+1) * time.Second
		if late := own.Sub(epoch) - due; late < 0 || late > time.Nanosecond {
			t.Errorf("its own clock shows %v for a timeout at %v", own.Sub(epoch), due)
		}
		if want := time.Duration(float64(due) / 1.0005); (network[i] - want).Abs() > time.Nanosecond {
			t.Errorf("it came at %v of the network, want %v", network[i], want)
		}
	}
	if got := x.ha.Now().Sub(x.Now()); got != 1500*time.Microsecond {
		t.Errorf("after 3 s it is ahead by %v", got)
	}
	if !x.hb.Now().Equal(x.Now()) {
		t.Error("the other host's clock is off too")
	}
}

func TestAShiftedClockMovesATimeoutThatWaits(t *testing.T) {
	x := newPair(t, 1, Profile{})
	x.a.next, x.b.next = epoch.Add(time.Hour), epoch.Add(time.Second)
	x.After(time.Millisecond, "shift", func() {
		x.ha.ShiftClock(time.Hour)
		x.hb.ShiftClock(-time.Hour)
	})
	x.run(time.Minute)
	if len(x.a.timeouts) != 1 || !x.a.timeouts[0].Equal(epoch.Add(time.Hour+time.Millisecond)) {
		t.Errorf("forward: %v", x.a.timeouts)
	}
	if len(x.b.timeouts) != 0 {
		t.Errorf("back: %v", x.b.timeouts)
	}
	x.run(time.Hour)
	if len(x.b.timeouts) != 1 || !x.b.timeouts[0].Equal(epoch.Add(time.Second)) {
		t.Errorf("back: %v", x.b.timeouts)
	}
}

func TestACrashedHostHearsAndSaysNothingUntilItsRestart(t *testing.T) {
	x := newPair(t, 1, Profile{Delay: time.Millisecond})
	x.b.next, x.b.every = epoch.Add(10*time.Millisecond), 10*time.Millisecond
	x.sendAt(0, "one")
	x.After(15*time.Millisecond, "crash", func() {
		x.b.send(addr(1), "never")
		x.hb.Crash()
		x.hb.Crash() // once more is nothing
		x.hb.Poke()
	})
	x.sendAt(20*time.Millisecond, "two")
	reborn := new(toy)
	reborn.send(addr(1), "back")
	x.After(30*time.Millisecond, "restart", func() { x.hb.Restart(reborn) })
	x.sendAt(40*time.Millisecond, "three")
	x.run(time.Second)
	if got := x.b.texts(); !slices.Equal(got, []string{"one"}) || len(x.b.timeouts) != 1 {
		t.Errorf("the crashed node got %q and %d timeouts", got, len(x.b.timeouts))
	}
	if got := reborn.texts(); !slices.Equal(got, []string{"three"}) {
		t.Errorf("the new node got %q", got)
	}
	if got := x.a.texts(); !slices.Equal(got, []string{"back"}) {
		t.Errorf("a got %q", got)
	}
	if s := x.Stats(); s.HostDown != 1 {
		t.Errorf("%+v", s)
	}
}

func TestACrashOrRestartInItsOwnTurnEndsTheTurn(t *testing.T) {
	for _, restart := range []bool{false, true} {
		x := newPair(t, 1, Profile{})
		reborn := new(toy)
		reborn.send(addr(1), "back")
		x.hb.AfterTurn(func(time.Time) {
			if len(x.b.got) == 1 && x.hb.Node() == Node(x.b) {
				x.b.send(addr(1), "never")
				x.hb.Crash()
				if restart {
					x.hb.Restart(reborn)
				}
			}
		})
		x.sendAt(0, "die")
		x.run(time.Second)
		var want []string
		if restart {
			want = []string{"back"}
		}
		if got := x.a.texts(); !slices.Equal(got, want) {
			t.Errorf("restart %v: a got %q", restart, got)
		}
	}
}

func TestANodeThatKeepsItsBytesSeesThemSpoiled(t *testing.T) {
	x := newPair(t, 1, Profile{})
	var kept []byte
	x.b.onData = func(_ time.Time, _ netip.AddrPort, b []byte) { kept = b }
	x.sendAt(0, strings.Repeat("x", 5000))
	x.run(time.Second)
	if strings.Contains(string(kept), "x") || len(kept) != 5000 {
		t.Fatal("the bytes are as they were")
	}
}

func TestAddressesOfFourInSixAreTheSameHost(t *testing.T) {
	x := newPair(t, 1, Profile{})
	mapped := netip.AddrPortFrom(netip.AddrFrom16(addr(2).Addr().As16()), 2)
	x.a.send(mapped, "hello")
	x.run(0)
	if len(x.b.got) != 1 || x.Host(mapped) != x.hb {
		t.Fatalf("got %v", x.b.got)
	}
}

func TestMistakesOfTheProgrammerPanic(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(x *pair)
	}{
		{"two hosts at one address", func(x *pair) { x.Add(addr(1), new(toy)) }},
		{"an address that is not valid", func(x *pair) { x.Add(netip.AddrPort{}, new(toy)) }},
		{"a nil node", func(x *pair) { x.Add(addr(3), nil) }},
		{"a restart with a nil node", func(x *pair) { x.ha.Restart(nil) }},
		{"a rebind to an address in use", func(x *pair) { x.ha.Rebind(addr(2)) }},
		{"a skew out of range", func(x *pair) { x.ha.Skew(1e9) }},
		{"a link of another network", func(x *pair) { x.Route(x.ha, x.hb, New(1).NewLink(Profile{})) }},
		{"an injected datagram that UDP cannot carry", func(x *pair) { x.Inject(addr(1), addr(2), make([]byte, 65_508)) }},
		{"a profile of a Live's link set past its lock", func(x *pair) { NewLive(1).NewLink(Profile{}).SetProfile(Profile{}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "simnet: ") {
					t.Errorf("got %v", r)
				}
			}()
			tt.do(newPair(t, 1, Profile{}))
		})
	}
}
