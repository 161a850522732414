package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/internal/shell"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
	"parley/protocol/replica/core"
)

func TestShutdownTellsAll(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		const clients = 30
		s := at.serve(t, Config{}, nil)
		var all []*Client
		for range clients {
			all = append(all, at.connect(t, s, Config{}))
		}
		told := make(chan Close)
		for _, x := range all {
			go func() { told <- ends(x) }()
			// The server knows a client when it has proven its address.
			if err := x.Send(Reliable, "here", nil); err != nil {
				t.Fatal(err)
			}
		}
		waitFor(t, s, func() bool { return s.Stats().Opened == clients })
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

// waitFor has the server's loop run until cond holds.
func waitFor(t testing.TB, s *Server, cond func() bool) {
	t.Helper()
	for !cond() {
		if err := s.Do(func() {}); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that shuts down turns newcomers away, and does not wait for clients
// that are gone for longer than the linger time.
func TestShutdownTurnsNewcomersAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{Linger: 2 * time.Second}, nil)
		dead := at.connect(t, s, Config{})
		synctest.Wait()
		dead.shell.Loop().Socket().Close()
		<-dead.shell.Loop().Done()

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
		dead := at.connect(t, s, Config{})
		synctest.Wait()
		dead.shell.Loop().Socket().Close()
		<-dead.shell.Loop().Done()
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
		if err := x.Send(Reliable, "here", nil); err != nil {
			t.Fatal(err)
		}
		waitFor(t, s, func() bool { return s.Stats().Opened == 1 })
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
		x := at.connect(t, s, Config{})
		synctest.Wait()
		x.shell.Loop().Socket().Close()
		<-x.shell.Loop().Done()
		s.Do(func() {
			if err := conn.Send(Ordered, "map", make([]byte, 100_000)); err != nil {
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
	if err := s.Do(func() { ran += 1 }); err != nil || ran != 1 {
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
	select {
	case <-s.Done():
	default:
		t.Error("a closed server is not done")
	}
}

func TestAnAddressInUseIsAnError(t *testing.T) {
	s, err := Listen("127.0.0.1:0", Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = Listen(s.Addr().String(), Config{}, nil)
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.HasPrefix(err.Error(), "replica: udp: listen on 127.0.0.1:") {
		t.Errorf("got %v", err)
	}
}

// Other goroutines reach connections through Do, with the right time.
func TestDoReachesTheConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		conns := map[*Conn]bool{} // owned by the loop
		s := at.serve(t, Config{}, func(c *Conn, ev Event) {
			switch ev.Kind {
			case EventConnected:
				conns[c] = true
			case EventClosed:
				delete(conns, c)
			}
		})
		a, b := at.connect(t, s, Config{}), at.connect(t, s, Config{})
		time.Sleep(700 * time.Millisecond) // virtual: the newest packet is old
		for i := range 10 {
			err := s.Do(func() {
				if len(conns) != 2 {
					t.Errorf("%d connections, want 2", len(conns))
				}
				for c := range conns {
					if err := c.Send(Ordered, "tick", []byte{byte(i)}); err != nil {
						t.Error(err)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range []*Client{a, b} {
				ev := nextMessageOf(t, x)
				if ev.Data[0] != byte(i) {
					t.Errorf("tick %d came as %d", i, ev.Data[0])
				}
				if late := int64(x.ServerTime() - ev.Time); late < 0 || late > 1000 {
					t.Errorf("a message sent now has a time %d µs ago", late)
				}
			}
			time.Sleep(50 * time.Millisecond) // virtual
		}
	})
}

func TestDoFromManyGoroutines(t *testing.T) {
	s, err := Listen("127.0.0.1:0", Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	sum := 0 // owned by the loop
	for range 50 {
		wg.Go(func() {
			for range 100 {
				if err := s.Do(func() { sum++ }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	patient.Done(wg.Wait)
	if s.Close(); sum != 5000 {
		t.Errorf("%d of 5,000 ran", sum)
	}
}

func TestASocketThatFailsEndsTheServer(t *testing.T) {
	s, err := Listen("127.0.0.1:0", Config{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.shell.Socket().Close()
	patient.Value(s.Done())
	if err := s.Do(func() {}); err != ErrServerClosed {
		t.Errorf("Do: %v", err)
	}
	if err := s.Close(); !errors.Is(err, udp.ErrClosed) {
		t.Errorf("Close: %v, want why the socket failed", err)
	}
}

func TestTheLogTellsWhoCameAndWhyTheyLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		at := memory()
		s := at.serve(t, Config{Log: shelltest.Log(&out)}, func(c *Conn, ev Event) {
			if ev.Kind == EventMessage {
				c.Close("no shouting")
			}
		})
		x := at.connect(t, s, Config{})
		if err := x.Send(Reliable, "HEY", nil); err != nil {
			t.Fatal(err)
		}
		if got := ends(x); got.Text != "no shouting" {
			t.Errorf("the client was told %+v", got)
		}
		s.Close()
		head := fmt.Sprintf("proto=replica local=%v", s.Addr())
		want := fmt.Sprintf("level=INFO msg=listening %[1]s\nlevel=INFO msg=connected %[1]s peer=%[2]v\n"+
			"level=INFO msg=disconnected %[1]s peer=%[2]v reason=closed text=\"no shouting\"\n", head, x.LocalAddr())
		if out.String() != want {
			t.Errorf("the log is\n%s\nwant\n%s", &out, want)
		}
	})
}

// A log that nobody reads stops nothing: clients come, are heard and leave, and the server closes.
func TestALogThatHangsStopsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hung := make(shelltest.Hung)
		at := memory()
		s := at.serve(t, Config{Log: shelltest.Log(hung)}, func(c *Conn, ev Event) {
			if ev.Kind == EventMessage {
				c.Close("no shouting")
			}
		})
		defer close(hung)
		for range 20 {
			x := at.connect(t, s, Config{})
			if err := x.Send(Reliable, "HEY", nil); err != nil {
				t.Fatal(err)
			}
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
	if x, y := shell.Rand().Uint64(), shell.Rand().Uint64(); x == y {
		t.Errorf("two random sources begin with %d", x)
	}
}

// acceptTime returns the time of the accept that a server answers an init with.
func acceptTime(t *testing.T, s *Server) uint64 {
	var p core.Packet
	err := s.Do(func() {
		var buf [2048]byte
		init := core.Packet{Kind: core.KindInit}
		s.mux.HandleDatagram(time.Now(), netip.MustParseAddrPort("10.0.0.2:5000"), init.AppendTo(nil))
		n, _, _ := s.mux.PollTransmit(buf[:])
		p.Parse(core.FromServer, buf[:n])
	})
	if err != nil || p.Kind != core.KindAccept {
		t.Fatalf("the answer to an init is %v, %v", p.Kind, err)
	}
	return p.Sent
}
