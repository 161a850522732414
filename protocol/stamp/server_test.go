package stamp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
	"parley/protocol/stamp/core"
)

func TestShutdownTellsAll(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		const clients = 30
		s := at.serve(t, Config{}, nil)
		told := make(chan Close)
		for range clients {
			x := at.connect(t, s, Config{})
			go func() { told <- ends(x) }()
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		for range clients {
			if got, want := patient.Value(told), (Close{Reason: core.ReasonPeer, Remote: true, Text: goodbye}); got != want {
				t.Errorf("a client was told %+v, want %+v", got, want)
			}
		}
		if st := s.Stats(); st.Conns != 0 || st.Ended != clients {
			t.Errorf("after the shutdown the server counts %+v", st)
		}
	})
}

// What was sent before a Shutdown arrives before the goodbye.
func TestShutdownLetsArriveWhatWasSent(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		s := at.serve(t, Config{Linger: 10 * unhurried}, welcome(t, Ordered, "one", "two", "three"))
		x := at.connect(t, s, Config{})
		down := make(chan error)
		go func() { down <- s.Shutdown(t.Context()) }()
		for _, want := range []string{"one", "two", "three"} {
			wantEntity(t, x, Ordered, []byte(want))
		}
		if err := patient.Value(down); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if got := ends(x); got.Text != goodbye {
			t.Errorf("the client was told %+v", got)
		}
	})
}

// vanish has a client disappear without a word.
func vanish(x *Client) {
	synctest.Wait()
	x.shell.Loop().Socket().Close()
	patient.Value(x.shell.Loop().Done())
}

// A server that shuts down turns newcomers away, and does not wait for clients
// that are gone for longer than the linger time.
func TestShutdownTurnsNewcomersAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{Linger: 2 * time.Second}, nil)
		vanish(at.connect(t, s, Config{}))
		start := time.Now()
		down := make(chan error)
		go func() { down <- s.Shutdown(t.Context()) }()
		synctest.Wait()
		var refused Close
		if _, err := at.tryDial(t.Context(), t, s.Addr(), Config{}); !errors.As(err, &refused) || refused.Text != goodbye {
			t.Errorf("dial during shutdown: %v", err)
		}
		if err := <-down; err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if took := time.Since(start); took < time.Second || took > 3*time.Second {
			t.Errorf("the shutdown took %v with a linger time of 2 s", took)
		}
	})
}

func TestShutdownEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		var last Event
		s := at.serve(t, Config{Linger: time.Minute}, func(_ *Conn, ev Event) { last = ev })
		vanish(at.connect(t, s, Config{}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("shutdown: %v, want the context's error", err)
		}
		if last.Kind != EventClosed || last.Close.Reason != core.ReasonClosed {
			t.Errorf("the handler's last event is %v (%+v)", last.Kind, last.Close)
		}
		if st := s.Stats(); st.Conns != 0 {
			t.Errorf("%d connections are left", st.Conns)
		}
	})
}

func TestCloseTellsAllAtOnce(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		closed := make(chan Event, 10)
		s := at.serve(t, Config{}, func(_ *Conn, ev Event) {
			if ev.Kind == EventClosed {
				closed <- ev
			}
		})
		x := at.connect(t, s, Config{})
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if len(closed) != 1 {
			t.Errorf("the handler got %d closed events, want 1", len(closed))
		}
		if got := ends(x); got.Reason != core.ReasonPeer || got.Text != goodbye {
			t.Errorf("the client was told %+v", got)
		}
	})
}

// What is on its way to a client that is gone does not keep Close.
func TestCloseDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		var conn *Conn
		var last Event
		s := at.serve(t, Config{Linger: time.Hour}, func(c *Conn, ev Event) { conn, last = c, ev })
		vanish(at.connect(t, s, Config{}))
		s.Do(func() {
			if err := conn.Send(Ordered, make([]byte, MaxData)); err != nil {
				t.Error(err)
			}
			conn.Close("kicked")
		})
		start := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 0 || last.Kind != EventClosed || last.Close.Reason != core.ReasonClosed {
			t.Errorf("close took %v and ended with %v (%+v)", took, last.Kind, last.Close)
		}
	})
}

func TestAClosedServerRunsNothing(t *testing.T) {
	s, err := Listen("127.0.0.1:0", Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	if err := s.Do(func() { ran += s.mux.Len() + 1 }); err != nil || ran != 1 {
		t.Errorf("Do on an open server: %v, ran %d times", err, ran)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Do(func() { ran++ }); err != ErrServerClosed || ran != 1 {
		t.Errorf("Do on a closed server: %v, ran %d times", err, ran)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown of a closed server: %v", err)
	}
	patient.Value(s.Done())
	if s.Stats().Loop.Turns == 0 {
		t.Error("the counters are gone")
	}
}

func TestAnAddressInUseIsAnError(t *testing.T) {
	s, err := Listen("127.0.0.1:0", Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = Listen(s.Addr().String(), Config{}, nil)
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.HasPrefix(err.Error(), "stamp: udp: listen on 127.0.0.1:") {
		t.Errorf("got %v", err)
	}
}

// Other goroutines reach connections through Do, with the right time: a game's tick.
func TestDoReachesTheConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{}, nil)
		a, b := at.connect(t, s, Config{}), at.connect(t, s, Config{})
		time.Sleep(700 * time.Millisecond) // virtual: the newest packet is old
		for i := range 10 {
			err := s.Do(func() {
				if s.mux.Len() != 2 || s.mux.Conn(a.LocalAddr()) == nil {
					t.Errorf("%d connections, want 2", s.mux.Len())
				}
				for c := range s.Conns() {
					if err := c.Send(Ordered, []byte{byte(i)}); err != nil {
						t.Error(err)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range []*Client{a, b} {
				for ev := range x.Events() {
					there, _ := x.ServerTime()
					if late := int64(there - ev.Time); ev.Data[0] != byte(i) || late < 0 || late > 1000 {
						t.Errorf("tick %d came as %v, sent %d µs ago", i, ev.Data, late)
					}
					break
				}
			}
			time.Sleep(50 * time.Millisecond) // virtual
		}
	})
}

func TestASocketThatFailsEndsTheServer(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		var last Event
		s := at.serve(t, Config{}, func(_ *Conn, ev Event) { last = ev })
		at.connect(t, s, Config{})
		s.shell.Socket().Close()
		patient.Value(s.Done())
		if last.Kind != EventClosed || s.Stats().Conns != 0 {
			t.Errorf("the handler's last event is %v, and %d connections are left", last.Kind, s.Stats().Conns)
		}
		if err := s.Do(func() {}); err != ErrServerClosed {
			t.Errorf("Do: %v", err)
		}
		if err := s.Close(); !errors.Is(err, udp.ErrClosed) {
			t.Errorf("Close: %v, want why the socket failed", err)
		}
	})
}

func TestTheLogTellsWhoCameAndWhyTheyLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, there bytes.Buffer
		at := memory()
		s := at.serve(t, Config{Log: shelltest.Log(&out)}, func(c *Conn, ev Event) {
			if ev.Kind == EventConnected {
				c.Close("no show today")
			}
		})
		x := at.connect(t, s, Config{Log: shelltest.Log(&there)})
		if got := ends(x); got.Text != "no show today" {
			t.Errorf("the client was told %+v", got)
		}
		s.Close()
		head := fmt.Sprintf("proto=stamp local=%v", s.Addr())
		want := fmt.Sprintf("level=INFO msg=listening %[1]s\nlevel=INFO msg=connected %[1]s peer=%[2]v\n"+
			"level=INFO msg=disconnected %[1]s peer=%[2]v reason=closed text=\"no show today\"\n", head, x.LocalAddr())
		if out.String() != want {
			t.Errorf("the server's log is\n%s\nwant\n%s", &out, want)
		}
		head = fmt.Sprintf("proto=stamp peer=%v", s.Addr())
		want = fmt.Sprintf("level=INFO msg=connected %[1]s\n"+
			"level=INFO msg=disconnected %[1]s reason=\"stamp: connection ended: peer left: no show today\"\n", head)
		if there.String() != want {
			t.Errorf("the client's log is\n%s\nwant\n%s", &there, want)
		}
	})
}

// A log that nobody reads stops nothing: clients come, are heard and leave, and the server closes.
func TestALogThatHangsStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := make(shelltest.Hung)
		at := memory()
		s := at.serve(t, Config{Log: shelltest.Log(hung)}, func(c *Conn, ev Event) {
			if ev.Kind == EventConnected {
				c.Close("no shouting")
			}
		})
		defer close(hung)
		for range 20 {
			x := at.connect(t, s, Config{})
			if got := ends(x); got.Text != "no shouting" {
				t.Fatalf("the client was told %+v", got)
			}
		}
		s.Close()
	})
}

// The start of a connection's clock proves an address, so that no two servers may
// agree on it.
func TestEveryServerHasASecretOfItsOwn(t *testing.T) {
	at := memory()
	a, b := at.serve(t, Config{}, nil), at.serve(t, Config{}, nil)
	const hour = 3_600_000_000
	if x, y := acceptTime(t, a), acceptTime(t, b); int64(x-y) > -hour && int64(x-y) < hour {
		t.Errorf("two servers start a client's clock at %d and %d", x, y)
	}
}

// acceptTime returns the time of the accept that a server answers an init with.
func acceptTime(t *testing.T, s *Server) uint64 {
	var p core.Packet
	err := s.Do(func() {
		var buf [core.MaxPacket]byte
		init := core.Packet{Kind: core.KindInit}
		s.mux.HandleDatagram(time.Now(), netip.MustParseAddrPort("10.0.0.2:5000"), init.AppendTo(core.FromClient, nil))
		n, _, _ := s.mux.PollTransmit(buf[:])
		p.Parse(core.FromServer, buf[:n])
	})
	if err != nil || p.Kind != core.KindAccept {
		t.Fatalf("the answer to an init is %v, %v", p.Kind, err)
	}
	return p.Time
}
