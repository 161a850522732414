package simnet

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/promise"
)

// T28: a run that goes on without end is an error that names the host, and not a test that hangs.
func TestALivelockIsFoundAndNamed(t *testing.T) {
	promise.Keeps(t, "T28", "simnet", 1)
	echo := func(y *toy) {
		y.onData = func(_ time.Time, from netip.AddrPort, b []byte) { y.send(from, string(b)) }
	}
	for _, tt := range []struct {
		name  string
		delay time.Duration
		set   func(x *pair)
		want  LivelockError
	}{
		{
			"two nodes that answer each other without delay", 0,
			func(x *pair) {
				echo(x.a)
				echo(x.b)
				x.sendAt(time.Second, "ball")
			},
			LivelockError{"b", "steps at one instant", 1000, time.Second},
		},
		{
			"a timeout that stays in the past", 0,
			func(x *pair) {
				x.a.next = epoch.Add(time.Second)
				x.a.onTime = func(time.Time) { x.a.next = epoch }
			},
			LivelockError{"a", "steps at one instant", 1000, time.Second},
		},
		{
			"a script that calls itself", 0,
			func(x *pair) {
				var again func()
				again = func() { x.After(0, "again", again) }
				again()
			},
			LivelockError{"(script: again)", "steps at one instant", 1000, 0},
		},
		{
			"a script that goes on without end", 0,
			func(x *pair) {
				x.SetLimits(Limits{Steps: 5000})
				var again func()
				again = func() { x.After(1, "again", again) }
				again()
			},
			LivelockError{"(script: again)", "steps in a run", 5000, 0},
		},
		{
			"a PollTransmit that never ends", time.Second,
			func(x *pair) { x.ha.Restart(endless{}) },
			LivelockError{"a", "transmits in a turn", 10_000, 0},
		},
		{
			"traffic that never ends", time.Microsecond,
			func(x *pair) {
				x.ha.Restart(&volley{to: addr(2), balls: 2})
				x.hb.Restart(&volley{to: addr(1)})
			},
			LivelockError{"b", "steps in a run", 1_000_000, 0},
		},
		{
			"senders that fill the network", time.Hour,
			func(x *pair) {
				x.SetLimits(Limits{InFlight: 500})
				flood(x, 10_000, 10, time.Millisecond)
			},
			LivelockError{"a", "datagrams in flight", 500, 500 * time.Millisecond},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newPair(t, 1, Profile{Delay: tt.delay})
			tt.set(x)
			err := x.Run(time.Hour)
			var got *LivelockError
			if !errors.As(err, &got) {
				t.Fatalf("got %v", err)
			}
			if got.What == "steps in a run" {
				got.At = 0 // any time will do; the count is what matters
			}
			if *got != tt.want {
				t.Errorf("got %+v, want %+v", *got, tt.want)
			}
			if again := x.Run(time.Second); again != err {
				t.Errorf("the run after it gave %v", again)
			}
		})
	}
}

// volley sends back as many as it gets, without writing them down.
type volley struct {
	to    netip.AddrPort
	balls int
}

func (v *volley) HandleDatagram(time.Time, netip.AddrPort, []byte) { v.balls++ }
func (v *volley) HandleTimeout(time.Time)                          {}
func (v *volley) NextTimeout() (time.Time, bool)                   { return time.Time{}, false }
func (v *volley) PollTransmit([]byte) (int, netip.AddrPort, bool) {
	if v.balls == 0 {
		return 0, netip.AddrPort{}, false
	}
	v.balls--
	return 1, v.to, true
}

// endless always has something to send.
type endless struct{}

func (endless) HandleDatagram(time.Time, netip.AddrPort, []byte) {}
func (endless) HandleTimeout(time.Time)                          {}
func (endless) NextTimeout() (time.Time, bool)                   { return time.Time{}, false }
func (endless) PollTransmit([]byte) (int, netip.AddrPort, bool)  { return 1, addr(2), true }

func TestAThousandStepsAtOneInstantAreNotALivelock(t *testing.T) {
	x := newPair(t, 1, Profile{})
	for range 1000 {
		x.a.send(addr(2), "x")
	}
	x.run(time.Second)
	if len(x.b.got) != 1000 {
		t.Fatalf("%d arrived", len(x.b.got))
	}
}

func TestRunStopsAtItsEndAndIncludesIt(t *testing.T) {
	x := newPair(t, 1, Profile{})
	var seen []time.Duration
	for _, d := range []time.Duration{3, 1, 2, 3, 4} {
		x.After(d*time.Second, "note", func() { seen = append(seen, x.Elapsed()) })
	}
	x.run(3 * time.Second)
	want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second}
	if !slices.Equal(seen, want) || x.Elapsed() != 3*time.Second {
		t.Fatalf("seen %v at %v", seen, x.Elapsed())
	}
	x.At(epoch, "in the past", func() { seen = append(seen, -1) })
	x.run(0)
	if seen[4] != -1 || x.Elapsed() != 3*time.Second {
		t.Fatalf("seen %v at %v", seen, x.Elapsed())
	}
}

func TestRunUntilStopsAtTheStepThatMakesItTrue(t *testing.T) {
	x := newPair(t, 1, Profile{Delay: time.Second})
	for i := range 5 {
		x.sendAt(time.Duration(i)*time.Second, "x")
	}
	if err := x.RunUntil(func() bool { return len(x.b.got) == 3 }, time.Minute); err != nil {
		t.Fatal(err)
	}
	if x.Elapsed() != 3*time.Second {
		t.Fatalf("stopped at %v", x.Elapsed())
	}
	if err := x.RunUntil(func() bool { return true }, 0); err != nil || x.Elapsed() != 3*time.Second {
		t.Fatalf("what holds already: %v at %v", err, x.Elapsed())
	}
	err := x.RunUntil(func() bool { return len(x.b.got) == 6 }, time.Minute)
	var limit *TimeLimitError
	if !errors.As(err, &limit) || limit.At != 63*time.Second || limit.Limit != time.Minute {
		t.Fatalf("got %v", err)
	}
	x.sendAt(64*time.Second, "x")
	if err := x.RunUntil(func() bool { return len(x.b.got) == 6 }, time.Minute); err != nil {
		t.Fatalf("after a limit the network goes on: %v", err)
	}
}

func TestAFilterDropsDelaysCopiesAndChanges(t *testing.T) {
	x := newPair(t, 1, Profile{Delay: time.Second})
	x.Filter(func(p Packet) Verdict {
		if p.From != x.ha || p.To != x.hb {
			t.Errorf("a filter saw %v to %v", p.From, p.To)
		}
		switch p.Number {
		case 1:
			return Verdict{Drop: true}
		case 2:
			return Verdict{Delay: time.Minute}
		case 3:
			return Verdict{Copies: 2}
		case 4:
			p.Bytes[0] = 'X'
		}
		return Verdict{}
	})
	for i, text := range []string{"zero", "one", "two", "three", "four"} {
		x.sendAt(time.Duration(i)*time.Millisecond, text)
	}
	x.run(time.Hour)
	if got := strings.Join(x.b.texts(), " "); got != "zero three three three Xour two" {
		t.Fatalf("got %q", got)
	}
	if s := x.Stats(); s.Filtered != 1 || s.Duplicated != 2 {
		t.Errorf("%+v", s)
	}
}

func TestAnInjectedDatagramComesFromAnyAddress(t *testing.T) {
	x := newPair(t, 1, Profile{Loss: 1})
	x.Partition(x.ha, x.hb, false)
	b := []byte("forged")
	x.Inject(addr(1), addr(2), b)
	b[0] = 'X'
	x.Inject(addr(5000), addr(3), b)
	x.run(0)
	if want := []arrived{{epoch, addr(1), "forged"}}; !slices.Equal(x.b.got, want) {
		t.Fatalf("got %v", x.b.got)
	}
	if s := x.Stats(); s.NoHost != 1 || s.Sent != 2 {
		t.Errorf("%+v", s)
	}
}
