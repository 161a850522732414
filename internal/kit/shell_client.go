package kit

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/datagram"
	"parley/internal/patient"
	"parley/internal/shell"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
)

// Clients has clients dial in all ways, fail to, close, and lose their server.
func Clients(t *testing.T, sh Shell) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, Shell)
	}{
		{"dial where nobody listens ends with its context", dialNobody},
		{"dial is rejected", dialRejected},
		{"dial needs an address", dialAddress},
		{"dial resolves a name", dialName},
		{"a hundred at once", hundredAtOnce},
		{"over any carrier", anyCarrier},
		{"close while the server sends", closeWhileSent},
		{"events end after close", eventsEnd},
		{"close inside events", closeInside},
		{"what came before a goodbye is read", readBeforeGoodbye},
		{"close lingers", closeLingers},
		{"a silent server is lost", silentServer},
		{"a silent client is lost", silentClient},
		{"a socket that fails ends the client", brokenClient},
		{"a client knows its server's clock and distance", clientClock},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, sh) })
	}
}

func dialNobody(t *testing.T, sh Shell) {
	sh.eachPlace(t, func(t *testing.T, at place) {
		nobody := netip.MustParseAddrPort("127.0.0.1:1") // a port that the system never chooses for port 0
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if x, err := at.tryDial(ctx, t, nobody, Options{}); x != nil || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v", x, err)
		}
	})
}

func dialRejected(t *testing.T, sh Shell) {
	for _, o := range []Options{{MaxConns: 1, Refuse: ""}, {Refuse: "not you"}} {
		t.Run(fmt.Sprintf("with %d places", o.MaxConns), func(t *testing.T) {
			sh.eachPlace(t, func(t *testing.T, at place) {
				entered := make(chan struct{}, 1)
				s := at.serve(t, o, func(_ Conn, ev Event) {
					if ev.Kind == Entered || ev.Kind == Connected && !sh.Enters {
						entered <- struct{}{}
					}
				})
				text := o.Refuse
				var first RunningClient
				if o.MaxConns == 1 {
					text, first = "server full", at.connect(t, s, Options{})
					patient.Value(entered) // only then it has the place
				}
				_, err := at.tryDial(t.Context(), t, s.Addr(), Options{})
				want(t, sh.Why(err), reasonRejected, true, text)
				if first != nil && first.Err() != nil {
					t.Errorf("the first client ended: %v", first.Err())
				}
			})
		})
	}
}

func dialAddress(t *testing.T, sh Shell) {
	for _, addr := range []string{"", "nonsense", ":7000", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:seven"} {
		if x, err := sh.DialName(t.Context(), addr); err == nil {
			t.Errorf("dial %q: no error", addr)
			x.Close(t.Context())
		} else if !strings.HasPrefix(err.Error(), sh.Name+": ") {
			t.Errorf("dial %q: %v", addr, err)
		}
	}
}

func dialName(t *testing.T, sh Shell) {
	s, err := sh.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, err := sh.DialName(t.Context(), fmt.Sprintf("localhost:%d", s.Addr().Port()))
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(t.Context()); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sh.DialName(ctx, "name.invalid:7000"); err == nil {
		t.Error("a name that does not exist was dialled")
	}
}

func hundredAtOnce(t *testing.T, sh Shell) {
	sh.eachPlace(t, func(t *testing.T, at place) {
		var packets []string
		for i := range 20 {
			packets = append(packets, fmt.Sprintf("packet %d", i))
		}
		s := at.serve(t, Options{}, at.reply(t, packets...))
		var tries atomic.Uint64
		done := make(chan error)
		for range 100 {
			go func() { done <- at.watch(t, s, packets, &tries) }()
		}
		for range 100 {
			if err := patient.Value(done); err != nil {
				t.Error(err)
			}
		}
		if st := s.Counts(); st.Opened < 100 || st.Opened > tries.Load() || st.Malformed != 0 || st.InData == 0 {
			t.Errorf("the server counts %+v", st)
		}
	})
}

// watch connects, has packets sent in their order, and leaves. At real sockets a client whose handshake took longer
// than the 10 s that a clock may be wrong is not known, and connects again, as a player would.
func (p place) watch(t testing.TB, s RunningServer, packets []string, tries *atomic.Uint64) (err error) {
	for range 5 {
		tries.Add(1)
		if err = p.watchOnce(t, s, packets); p.Network != nil || err == nil || !strings.Contains(err.Error(), "unknown to the server") {
			break
		}
	}
	return err
}

func (p place) watchOnce(t testing.TB, s RunningServer, packets []string) error {
	x, err := p.tryDial(t.Context(), t, s.Addr(), Options{})
	if err != nil {
		return err
	}
	defer x.Close(t.Context())
	if err := p.say(x, packets...); err != nil {
		return err
	}
	k := 0
	for ev := range x.All() {
		if ev.Kind != Data || string(ev.Bytes) != packets[k] {
			return fmt.Errorf("got %+v, want %q", ev, packets[k])
		}
		if k++; k == len(packets) {
			break
		}
	}
	return nil
}

// Clients play over any carrier, and a server does not know what brings its datagrams.
func anyCarrier(t *testing.T, sh Shell) {
	shelltest.Beside(t, func(t *testing.T, server datagram.Carrier, clients []datagram.Carrier) {
		handle := echo(t)
		if sh.Mute {
			handle = welcome(t, Ordered, "hello", "hello", "hello")
		}
		s := sh.Serve(server, Options{}, handle)
		defer s.Close()
		for _, carrier := range clients {
			x, err := sh.Dial(t.Context(), carrier, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close(t.Context())
			for mode := range Ordered + 1 {
				if sh.Mute {
					mode = Ordered
				} else if err := x.Send(mode, []byte("hello")); err != nil {
					t.Fatal(err)
				}
				for ev := range x.All() {
					if ev.Kind != Data || ev.Mode != mode || string(ev.Bytes) != "hello" {
						t.Errorf("mode %d: got %+v", mode, ev)
					}
					break
				}
			}
		}
		if got := s.Counts().Conns; got != len(clients) {
			t.Errorf("%d connections, want %d", got, len(clients))
		}
	})
}

func closeWhileSent(t *testing.T, sh Shell) {
	sh.eachPlace(t, func(t *testing.T, at place) {
		var conn Conn
		s := at.serve(t, Options{}, func(c Conn, _ Event) { conn = c })
		x := at.connect(t, s, Options{})
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for mode := Unreliable; ; mode = (mode + 1) % (Ordered + 1) {
				select {
				case <-stop:
					return
				default:
					s.Do(func() { conn.Send(mode, make([]byte, 100)) })
				}
			}
		}()
		n := 0
		for range x.All() {
			if n++; n == 100 {
				break
			}
		}
		if err := x.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		want(t, ends(x), reasonClosed, false, "")
		close(stop)
		patient.Value(stopped)
	})
}

func eventsEnd(t *testing.T, sh Shell) {
	sh.eachPlace(t, func(t *testing.T, at place) {
		s := at.serve(t, Options{}, nil)
		x := at.connect(t, s, Options{})
		ended := make(chan Event)
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
			want(t, patient.Value(ended), reasonClosed, false, "")
		}
		patient.Done(wg.Wait)
		for range x.All() { // again, at once
		}
		if err := x.Close(t.Context()); err != nil {
			t.Errorf("close again: %v", err)
		}
		if err := x.Err(); err == nil || err.Error() != sh.Name+": connection ended: closed" {
			t.Errorf("Err is %v", err)
		}
		if now, _ := x.Clock(); now == 0 || x.RTT() < 0 || x.Check() != nil {
			t.Errorf("the clock is %d, the round trip %v, and of the counters: %v", now, x.RTT(), x.Check())
		}
	})
}

// Close may be called by who reads events, also when it does not read on.
func closeInside(t *testing.T, sh Shell) {
	synctest.Test(t, func(t *testing.T) {
		at := sh.memory()
		var f flood
		s := at.serve(t, Options{}, func(c Conn, _ Event) { f.conn = c })
		x := at.connect(t, s, Options{})
		s.Do(func() { f.fill(Ordered, 200) })
		time.Sleep(2 * time.Second) // virtual: all queues are full
		n, closed := 0, 0
		for ev := range x.All() {
			if n++; n == 1 {
				if err := x.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if ev.Kind == Ended {
				closed = n
			}
		}
		if n < shell.MaxQueuedEvents || n > shell.MaxQueuedEvents+5 || closed != n {
			t.Errorf("%d events came, closed as number %d; want about the %d that were queued, and closed", n, closed, shell.MaxQueuedEvents)
		}
	})
}

// A reader who is slower than its server's goodbye still gets everything.
func readBeforeGoodbye(t *testing.T, sh Shell) {
	sh.eachPlace(t, func(t *testing.T, at place) {
		const n = 3 * shell.MaxQueuedEvents
		s := at.serve(t, Options{Linger: 10 * Unhurried}, func(c Conn, ev Event) {
			if ev.Kind != Connected {
				return
			}
			for i := range n {
				if err := c.Send(Ordered, []byte{byte(i)}); err != nil {
					t.Error(err)
				}
			}
			c.Close("that was all")
		})
		x := at.connect(t, s, Options{})
		patient.Value(x.Over())
		if err := x.Send(Ordered, nil); err != sh.ErrClosed {
			t.Errorf("send after the server's goodbye: %v", err)
		}
		got := 0
		for ev := range x.All() {
			if ev.Kind != Data {
				want(t, ev, reasonPeer, true, "that was all")
				continue
			}
			if ev.Bytes[0] != byte(got) {
				t.Fatalf("packet %d is %d", got, ev.Bytes[0])
			}
			got++
		}
		if got != n {
			t.Errorf("%d of %d packets came", got, n)
		}
		patient.Value(x.Stopped()) // without Close: there is nothing left to do
	})
}

// Close does not wait for a server that is gone longer than the linger time, nor than its context.
func closeLingers(t *testing.T, sh Shell) {
	for _, tt := range []struct {
		name    string
		says    bool // something is not acknowledged
		linger  time.Duration
		context time.Duration
		want    time.Duration
		err     error
	}{
		{"for the linger time", false, 0, time.Hour, 500 * time.Millisecond, nil},
		{"as configured", false, 3 * time.Second, time.Hour, 3 * time.Second, nil},
		{"until its context ends", false, 3 * time.Second, 200 * time.Millisecond, 200 * time.Millisecond, context.DeadlineExceeded},
		{"not at all", false, 3 * time.Second, 0, 0, context.DeadlineExceeded},
		{"not at all, as configured", false, -1, time.Hour, 0, nil},
		{"for a packet and for its goodbye", true, 0, time.Hour, 500 * time.Millisecond, nil},
		{"for a packet until its context ends", true, 0, 100 * time.Millisecond, 100 * time.Millisecond, context.DeadlineExceeded},
		{"not at all, whatever is on its way", true, 3 * time.Second, 0, 0, context.DeadlineExceeded},
	} {
		if tt.says && sh.Mute {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := sh.memory()
				s := at.serve(t, Options{}, nil)
				x := at.connect(t, s, Options{Linger: tt.linger})
				s.Break() // no goodbye
				<-s.Done()
				if tt.says {
					if err := x.Send(Ordered, make([]byte, sh.MaxBytes)); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), tt.context)
				defer cancel()
				start := time.Now()
				if err := x.Close(ctx); !errors.Is(err, tt.err) {
					t.Errorf("close: %v, want %v", err, tt.err)
				}
				if took := time.Since(start); took != tt.want {
					t.Errorf("close took %v, want %v", took, tt.want)
				}
				if got := ends(x); got.Reason != reasonClosed {
					t.Errorf("ended with %+v", got)
				}
			})
		})
	}
}

func silentServer(t *testing.T, sh Shell) {
	synctest.Test(t, func(t *testing.T) {
		at := sh.memory()
		s := at.serve(t, Options{}, nil)
		x := at.connect(t, s, Options{})
		s.Break()
		start := time.Now()
		want(t, ends(x), "timeout", false, "")
		if took := time.Since(start); took < 9*time.Second || took > 11*time.Second {
			t.Errorf("that took %v", took)
		}
		if err := x.Err(); err == nil || err.Error() != sh.Name+": connection ended: timeout" {
			t.Errorf("Err is %v", err)
		}
	})
}

func silentClient(t *testing.T, sh Shell) {
	synctest.Test(t, func(t *testing.T) {
		at := sh.memory()
		closed := make(chan Event, 1)
		s := at.serve(t, Options{}, func(_ Conn, ev Event) {
			if ev.Kind == Ended {
				closed <- ev
			}
		})
		start := time.Now()
		vanish(at.connect(t, s, Options{}))
		if got := <-closed; got.Reason != "timeout" && got.Reason != "reliable packet never acknowledged" {
			t.Errorf("ended with %+v", got)
		}
		if took := time.Since(start); took < 9*time.Second || took > 12*time.Second {
			t.Errorf("that took %v", took)
		}
	})
}

func brokenClient(t *testing.T, sh Shell) {
	sh.eachPlace(t, func(t *testing.T, at place) {
		s := at.serve(t, Options{}, nil)
		x := at.connect(t, s, Options{})
		x.Break()
		if got := ends(x); got.Reason != "socket failed" || got.Remote || got.Text == "" {
			t.Errorf("ended with %+v", got)
		}
		if err := x.Err(); !errors.Is(err, udp.ErrClosed) {
			t.Errorf("Err is %v", err)
		}
		if err := x.Close(t.Context()); !errors.Is(err, udp.ErrClosed) {
			t.Errorf("close: %v", err)
		}
		if err := x.Send(Ordered, nil); err != sh.ErrClosed {
			t.Errorf("send: %v", err)
		}
	})
}

func clientClock(t *testing.T, sh Shell) {
	synctest.Test(t, func(t *testing.T) {
		at := sh.memory()
		var conn Conn
		s := at.serve(t, Options{}, func(c Conn, _ Event) { conn = c })
		x := at.connect(t, s, Options{})
		time.Sleep(5 * time.Second) // virtual: some beats
		var there uint64
		s.Do(func() { there = conn.ServerTime() })
		here, within := x.Clock()
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
