package stamp

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/internal/udp"
	"parley/protocol/stamp/core"
)

func TestDialWhereNobodyListensEndsWithItsContext(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		nobody := netip.MustParseAddrPort("127.0.0.1:1") // no port that the system gives to those who ask for any
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		x, err := at.tryDial(ctx, t, nobody, Config{})
		if x != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v", x, err)
		}
	})
}

// Without a context that ends, a server that says nothing is given up by itself.
func TestDialGivesUpOnASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{}, nil)
		s.Close()
		start := time.Now()
		x, err := at.tryDial(t.Context(), t, s.Addr(), Config{})
		var why Close
		if x != nil || !errors.As(err, &why) || why.Reason != core.ReasonTimeout || time.Since(start) != 10*time.Second {
			t.Errorf("got %v, %v after %v", x, err, time.Since(start))
		}
	})
}

func TestDialIsRejected(t *testing.T) {
	for _, tt := range []struct {
		name   string
		config Config
		text   string
	}{
		{"by a full server", Config{MaxConns: 1}, "server full"},
		{"by who is asked", Config{Admit: func(netip.AddrPort) string { return "not you" }}, "not you"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachPlace(t, func(t *testing.T, at *place) {
				entered := make(chan struct{}, 1)
				s := at.serve(t, tt.config, func(_ *Conn, ev Event) {
					if ev.Kind == EventEntered {
						entered <- struct{}{}
					}
				})
				var first *Client
				if tt.config.MaxConns == 1 {
					first = at.connect(t, s, Config{})
					patient.Value(entered) // only then it has the place
				}
				_, err := at.tryDial(t.Context(), t, s.Addr(), Config{})
				var refused Close
				if !errors.As(err, &refused) || refused != (Close{Reason: core.ReasonRejected, Remote: true, Text: tt.text}) {
					t.Errorf("got %v", err)
				}
				if first != nil && first.Err() != nil {
					t.Errorf("the first client ended: %v", first.Err())
				}
			})
		})
	}
}

func TestDialNeedsAnAddress(t *testing.T) {
	for _, addr := range []string{"", "nonsense", ":7000", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:seven"} {
		if x, err := Dial(t.Context(), addr, Config{}); err == nil {
			t.Errorf("dial %q: no error", addr)
			x.Close(t.Context())
		} else if want := "stamp: "; err.Error()[:len(want)] != want {
			t.Errorf("dial %q: %v", addr, err)
		}
	}
}

func TestDialResolvesAName(t *testing.T) {
	s, err := Listen("127.0.0.1:0", Config{Timeout: unhurried}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, err := Dial(t.Context(), fmt.Sprintf("localhost:%d", s.Addr().Port()), Config{Timeout: unhurried})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ctx, "name.invalid:7000", Config{}); err == nil {
		t.Error("a name that does not exist was dialled")
	}
}

func TestCloseWhileTheServerSends(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		var f flood
		s := at.serve(t, Config{}, func(c *Conn, _ Event) { f.conn = c })
		x := at.connect(t, s, Config{})
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for mode := Unreliable; ; mode = (mode + 1) % (Ordered + 1) {
				select {
				case <-stop:
					return
				default:
					s.Do(func() { f.conn.Send(mode, make([]byte, 100)) })
				}
			}
		}()
		n := 0
		for range x.Events() {
			if n++; n == 100 {
				break
			}
		}
		if err := x.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		if got := ends(x); got != (Close{Reason: core.ReasonClosed}) {
			t.Errorf("ended with %+v", got)
		}
		close(stop)
		patient.Value(stopped)
	})
}

func TestEventsEndAfterClose(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		s := at.serve(t, Config{}, nil)
		x := at.connect(t, s, Config{})
		ended := make(chan Close)
		for range 3 { // readers that wait
			go func() { ended <- ends(x) }()
		}
		var wg sync.WaitGroup
		for range 3 { // and several who close
			wg.Go(func() {
				if err := x.Close(t.Context()); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
		for range 3 {
			if got := patient.Value(ended); got != (Close{Reason: core.ReasonClosed}) {
				t.Errorf("a reader saw %+v", got)
			}
		}
		patient.Done(wg.Wait)
		for range x.Events() { // again, at once
		}
		if err := x.Close(t.Context()); err != nil {
			t.Errorf("close again: %v", err)
		}
		if got := x.Err(); got != error(Close{Reason: core.ReasonClosed}) {
			t.Errorf("Err is %v", got)
		}
		if st := x.Stats(); st.In == 0 || st.Out == 0 || st.Check() != nil {
			t.Errorf("the counters are %+v", st)
		}
		if now, _ := x.ServerTime(); now == 0 || x.RTT() < 0 {
			t.Errorf("the clock is %d, the round trip %v", now, x.RTT())
		}
	})
}

// Close does not wait for a server that is gone longer than the linger time, nor
// than its context.
func TestCloseLingers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		linger  time.Duration
		context time.Duration
		want    time.Duration
		err     error
	}{
		{"for the linger time", 0, time.Hour, 500 * time.Millisecond, nil},
		{"as configured", 3 * time.Second, time.Hour, 3 * time.Second, nil},
		{"until its context ends", 3 * time.Second, 200 * time.Millisecond, 200 * time.Millisecond, context.DeadlineExceeded},
		{"not at all", 3 * time.Second, 0, 0, context.DeadlineExceeded},
		{"not at all, as configured", -1, time.Hour, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := memory()
				s := at.serve(t, Config{}, nil)
				x := at.connect(t, s, Config{Linger: tt.linger})
				s.shell.Socket().Close() // no goodbye
				<-s.Done()
				ctx, cancel := context.WithTimeout(t.Context(), tt.context)
				defer cancel()
				start := time.Now()
				if err := x.Close(ctx); !errors.Is(err, tt.err) {
					t.Errorf("close: %v, want %v", err, tt.err)
				}
				if took := time.Since(start); took != tt.want {
					t.Errorf("close took %v, want %v", took, tt.want)
				}
				if got := ends(x); got.Reason != core.ReasonClosed {
					t.Errorf("ended with %+v", got)
				}
			})
		})
	}
}

func TestASilentServerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{}, nil)
		x := at.connect(t, s, Config{})
		s.shell.Socket().Close()
		start := time.Now()
		if got := ends(x); got.Reason != core.ReasonTimeout {
			t.Errorf("ended with %+v", got)
		}
		if took := time.Since(start); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("that took %v", took)
		}
		var why Close
		if !errors.As(x.Err(), &why) || why.Reason != core.ReasonTimeout {
			t.Errorf("Err is %v", x.Err())
		}
	})
}

func TestASilentClientIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		closed := make(chan Close, 1)
		s := at.serve(t, Config{}, func(_ *Conn, ev Event) {
			if ev.Kind == EventClosed {
				closed <- ev.Close
			}
		})
		start := time.Now()
		vanish(at.connect(t, s, Config{}))
		if got := <-closed; got.Reason != core.ReasonTimeout && got.Reason != core.ReasonUnacknowledged {
			t.Errorf("ended with %+v", got)
		}
		if took := time.Since(start); took < 9*time.Second || took > 12*time.Second {
			t.Errorf("that took %v", took)
		}
	})
}

func TestASocketThatFailsEndsTheClient(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		s := at.serve(t, Config{}, nil)
		x := at.connect(t, s, Config{})
		x.shell.Loop().Socket().Close()
		if got := ends(x); got.Reason != core.ReasonSocket || got.Remote || got.Text == "" {
			t.Errorf("ended with %+v", got)
		}
		if err := x.Err(); !errors.Is(err, udp.ErrClosed) {
			t.Errorf("Err is %v", err)
		}
		if err := x.Close(t.Context()); !errors.Is(err, udp.ErrClosed) {
			t.Errorf("close: %v", err)
		}
	})
}

func TestAClientKnowsItsServersClockAndDistance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		var conn *Conn
		s := at.serve(t, Config{}, func(c *Conn, _ Event) { conn = c })
		x := at.connect(t, s, Config{})
		time.Sleep(5 * time.Second) // virtual: some beats
		var there uint64
		s.Do(func() { there = conn.ServerTime() })
		here, within := x.ServerTime()
		if off := time.Duration(int64(here-there)) * time.Microsecond; off.Abs() > time.Millisecond || off.Abs() > within+time.Microsecond {
			t.Errorf("the clocks are %v apart, at most %v by the client's word", off, within)
		}
		if rtt := x.RTT(); rtt > 2*time.Millisecond {
			t.Errorf("the round trip in memory is %v", rtt)
		}
		if a := x.LocalAddr(); a.Addr() != netip.MustParseAddr("127.0.0.1") || a != conn.Peer() {
			t.Errorf("the client is at %v, the server sees %v", a, conn.Peer())
		}
	})
}
