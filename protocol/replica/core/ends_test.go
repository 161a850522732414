package core

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
	"parley/simnet"
)

// The last event is the last: what came before the end is read before it, and of an order
// in which a message was lost nothing more is told.
func TestTheEndComesAfterAllThatCame(t *testing.T) {
	for _, tt := range []struct {
		name string
		send func(c *Conn)
		want string
	}{
		{"a goodbye", func(c *Conn) {
			for i := range 3 {
				c.Send(Ordered, "m", []byte{byte('a' + i)})
			}
			c.Close("enough")
		}, `connected m="a" m="b" m="c" closed: peer left`},
		{"a message that is too large, whatever comes behind it", func(c *Conn) {
			c.Send(Ordered, "m", []byte("first"))
			c.Send(Ordered, "m", make([]byte, 5000))
			c.Send(Ordered, "m", []byte("late"))
			c.Send(Reliable, "m", []byte("free"))
		}, `connected m="first" m="free" closed: out of room`},
		{"a message that is too large, and a goodbye", func(c *Conn) {
			c.Send(Ordered, "m", []byte("first"))
			c.Send(Ordered, "m", make([]byte, 5000))
			c.Send(Ordered, "m", []byte("late"))
			c.Send(Reliable, "m", []byte("free"))
			c.Close("enough")
		}, `connected m="first" m="free" closed: peer left`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1, Config{}, kit.Lan())
			x := w.dial(0, Config{MaxMessage: 2000})
			w.Until("open", time.Second, func() bool { return w.mux.Len() == 1 && x.State() == StateOpen })
			reading := false
			x.host.AfterTurn(func(time.Time) {
				for reading {
					ev, ok := x.PollEvent()
					if !ok {
						return
					}
					x.events = append(x.events, eventText(ev))
				}
			})
			tt.send(w.mux.Conn(x.host.Addr()))
			w.server.Poke()
			w.Pass(300 * time.Millisecond) // all of it waits to be read
			reading = true
			x.host.Poke()
			w.Pass(2 * time.Second)
			if got := strings.Join(x.events, " "); got != tt.want {
				t.Errorf("the client saw %s, want %s", got, tt.want)
			}
		})
	}
}

// Who closes a connection is told that it is closed, whatever the server says meanwhile.
func TestWhoClosesIsNotToldThatItWasLeft(t *testing.T) {
	for _, busy := range []bool{false, true} {
		for _, row := range []string{"disconnect", "disconnect, a notice"} {
			t.Run(fmt.Sprintf("%s, unacknowledged=%v", row, busy), func(t *testing.T) {
				d := newDrivenClient("open")
				if busy {
					if err := d.e.Send(d.now, Reliable, "m", nil); err != nil {
						t.Fatal(err)
					}
				}
				d.drain()
				d.e.Close(d.now, "")
				if got := d.e.State() == StateClosing; got == busy {
					t.Fatalf("it is %v", d.e.State())
				}
				d.e.HandleDatagram(d.now, serverAddr, d.packet(row))
				ev, ok := d.e.PollEvent()
				if !ok || ev.Kind != EventClosed || ev.Close != (Close{Reason: ReasonClosed}) {
					t.Errorf("it is told %v, %+v", ev.Kind, ev.Close)
				}
			})
		}
	}
}

// A client that comes back so soon that an accept to its former self is still under way
// does not walk into the middle of the old connection, nor do messages of the one
// reach the other.
func TestAnAcceptToItsFormerSelfDoesNoHarm(t *testing.T) {
	w := newWorld(t, 16, Config{}, kit.Lan())
	var heard []string
	w.onEvent = func(_ time.Time, c *Conn, ev Event) { heard = append(heard, eventText(ev)) }
	x := w.dial(0, Config{})
	w.Until("open", time.Second, func() bool { return w.mux.Len() == 1 && x.State() == StateOpen })
	for i := range 20 {
		x.send(Ordered, "up", fmt.Sprint(i))
		w.mux.Conn(x.host.Addr()).Send(Ordered, "down", []byte(fmt.Sprint(i)))
		w.server.Poke()
	}
	w.Pass(200 * time.Millisecond)
	x.host.Crash()
	now := w.mux.Conn(x.host.Addr()).endpoint.ServerTime(w.Now())
	late := Packet{Kind: KindAccept, Reliable: true, Extended: true, Sequence: 1, Received: now, Sent: now, SyncInterval: 1_000_000}
	y := &client{w: w, host: x.host, Endpoint: NewClient(w.Now(), serverAddr, Config{}, newShared(5))}
	said := false
	x.host.AfterTurn(func(time.Time) {
		for ev, ok := y.PollEvent(); ok; ev, ok = y.PollEvent() {
			y.events = append(y.events, eventText(ev))
		}
		if y.State() == StateOpen && !said {
			said = y.Send(x.host.Now(), Ordered, "up", []byte("new")) == nil
		}
	})
	x.host.Restart(y.Endpoint)
	heard = nil
	w.Pass(15 * time.Millisecond)
	w.Inject(serverAddr, x.host.Addr(), late.AppendTo(nil))
	w.Pass(time.Millisecond)
	if y.State() != StateAccepted {
		t.Fatalf("the client is %v", y.State())
	}
	w.mux.Conn(x.host.Addr()).Send(Ordered, "down", []byte("old"))
	w.server.Poke()
	w.Until("heard", 8*time.Second, func() bool { return said && len(heard) >= 3 })
	w.Pass(time.Second)
	if got := strings.Join(heard, " "); got != `closed: replaced by a new connection connected up="new"` {
		t.Errorf("the server saw %s", got)
	}
	if got := strings.Join(y.events, " "); got != "connected" {
		t.Errorf("the client saw %s", got)
	}
}

// A foreign server may begin with other numbers: its client waits, and then takes what
// comes.
func TestAServerThatBeginsWithOtherNumbers(t *testing.T) {
	d := newDrivenClient("accepted")
	start := d.now
	for range 100 {
		d.now = d.now.Add(100 * time.Millisecond)
		d.next += 50
		d.step(d.packet("sync.init"))
		if want := d.now.Sub(start) >= firstWithin; (d.e.State() == StateOpen) != want {
			t.Fatalf("after %v the client is %v", d.now.Sub(start), d.e.State())
		}
		d.e.HandleTimeout(d.now)
		d.drain()
	}
}

// T21: a NAT that gives the client another address ends its connection: the dialect knows
// a connection by the address alone. Both sides know within the timeout (the client with
// its next packet, by the server's notice), nothing comes twice or out of order, and
// whoever asks again is let in.
func TestARebindingEndsTheConnectionInTime(t *testing.T) {
	quick, n := 0, 0
	kit.Seeds(t, promise.Keeps(t, "T21", "replica", kit.Rounds(200, 5000)), func(t *testing.T, seed uint64) {
		n++
		rng := rand.New(rand.NewPCG(seed, 21))
		at := 500 + rng.IntN(3000)
		plan, err := simnet.ParsePlan(fmt.Sprintf("link *>* delay=20ms jitter=10ms loss=%.2f\nat %dms rebind client0\ncalm %dms", float64(seed%4)/20, at, at))
		if err != nil {
			t.Fatal(err)
		}
		c := kit.SwarmConfig{Dialect: dialect, Every: 50 * time.Millisecond, After: time.Second}
		if rng.IntN(4) == 0 {
			c.After = -time.Millisecond // it is idle when it happens
		}
		s := c.New(seed, plan, 1)
		ended := func() (n int) {
			for _, k := range s.Reasons {
				n += k
			}
			return n
		}
		wait := func(what string, d time.Duration, cond func() bool) {
			if err := s.Net.RunUntil(func() bool { return s.Err != nil || cond() }, d); err != nil || s.Err != nil {
				t.Fatalf("seed=%d: %s: %v, %v", seed, what, err, s.Err)
			}
		}
		if err := s.Net.Run(plan.Calm - time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if s.Server.Len() == 0 {
			return // not even connected
		}
		if err := s.Net.Run(time.Second); err != nil {
			t.Fatal(err)
		}
		if ended() > 0 {
			quick++
		}
		wait("both ends know", 11*time.Second, func() bool { return ended() == 2 })
		for reason := range s.Reasons {
			if !slices.Contains([]string{ReasonUnknown.String(), ReasonTimeout.String(), ReasonUnacknowledged.String()}, reason) {
				t.Errorf("seed=%d: ends: %v", seed, s.Reasons)
			}
		}
		wait("connected anew", 10*time.Second, func() bool { return s.Server.Len() == 1 })
	})
	if n > 1 && quick < n/3 {
		t.Errorf("%d of %d clients knew within a second", quick, n)
	}
	t.Logf("%d of %d clients knew within a second", quick, n)
}

// A client whose address changes while it connects begins again.
func TestARebindingWhileConnecting(t *testing.T) {
	kit.Seeds(t, kit.Rounds(200, 5000), func(t *testing.T, seed uint64) {
		w := newWorld(t, seed, Config{}, simnet.Profile{Delay: 20 * time.Millisecond, Loss: float64(seed%4) / 20})
		x := w.dial(0, Config{})
		w.Pass(time.Duration(w.Rand().IntN(120)) * time.Millisecond)
		x.host.Rebind(netip.AddrPortFrom(clientAddr.Addr(), clientAddr.Port()+1000))
		w.Until("connected, or told", 20*time.Second, func() bool {
			return x.closed != nil || x.State() == StateOpen && w.mux.Conn(x.host.Addr()) != nil
		})
		if x.closed != nil && x.closed.Reason != ReasonUnknown && x.closed.Reason != ReasonTimeout {
			t.Errorf("seed=%d: %v", seed, x.closed)
		}
	})
}

// T11: a client that does not read slows its server down, and takes up again within two
// round trips once it reads; one that does not for 10 to 20 s is given up, as the page
// has a packet sent ten times.
func TestAClientThatDoesNotRead(t *testing.T) {
	promise.Keeps(t, "T11", "replica", 1)
	for _, tt := range []struct {
		stall, timeout time.Duration
		lost           bool
	}{{2 * time.Second, 0, false}, {60 * time.Second, 0, true}, {60 * time.Second, 2 * time.Minute, false}} {
		t.Run(fmt.Sprint(tt.stall, tt.timeout), func(t *testing.T) {
			const delay = 20 * time.Millisecond
			w := newWorld(t, 1, Config{Timeout: tt.timeout}, simnet.Profile{Delay: delay, Rate: 4_000_000})
			x := w.dial(0, Config{})
			w.Until("open", time.Second, func() bool { return w.mux.Len() == 1 && x.State() == StateOpen })
			var ended *Close
			var endedAt time.Time
			w.onEvent = func(now time.Time, _ *Conn, ev Event) {
				if ev.Kind == EventClosed {
					ended, endedAt = &ev.Close, now
				}
			}
			full := time.Time{}
			for i := range int(tt.stall/time.Millisecond) / 10 {
				w.After(time.Duration(i)*10*time.Millisecond, "talk", func() {
					c := w.mux.Conn(x.host.Addr())
					for c != nil {
						if err := c.Send(Reliable, "m", make([]byte, 500)); err != nil {
							if full.IsZero() {
								full = w.Now()
							}
							break
						}
					}
					w.server.Poke()
				})
			}
			got, reading := 0, false
			x.host.AfterTurn(func(time.Time) {
				for reading {
					if _, ok := x.PollEvent(); !ok {
						return
					}
					got++
				}
			})
			w.Pass(tt.stall)
			if full.IsZero() {
				t.Fatal("the server was never told to wait")
			}
			if tt.lost {
				if ended == nil || ended.Reason != ReasonUnacknowledged {
					t.Fatalf("the server has %v", ended)
				}
				if after := endedAt.Sub(full); after < 8*time.Second || after > 20*time.Second {
					t.Errorf("it was given up %v after the window was full", after)
				}
				return
			}
			reading = true
			x.host.Poke()
			w.Pass(0)
			waited := got
			w.Pass(4*delay + time.Millisecond)
			if got <= waited || ended != nil {
				t.Errorf("two round trips after it reads again %d have come, %d waited; ended: %v", got, waited, ended)
			}
		})
	}
}
