package kit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
)

// Servers has a server close in all ways, be reached by Do, and log.
func Servers(t *testing.T, sh Shell) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, Shell)
	}{
		{"shutdown tells all", shutdownTellsAll},
		{"shutdown lets arrive what was sent", shutdownLetsArrive},
		{"shutdown turns newcomers away", shutdownTurnsAway},
		{"shutdown ends with its context", shutdownEndsWithItsContext},
		{"close tells all at once", closeTellsAll},
		{"close does not wait", closeDoesNotWait},
		{"a closed server runs nothing", closedServer},
		{"an address in use is an error", addressInUse},
		{"do reaches the connections", doReaches},
		{"do from many goroutines", doFromMany},
		{"a socket that fails ends the server", brokenServer},
		{"the log tells who came and why they left", serverLog},
		{"a log that hangs stops nothing", hungLog},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t, sh) })
	}
}

func shutdownTellsAll(t *testing.T, sh Shell) {
	sh.eachPlace(t, func(t *testing.T, at place) {
		const clients = 30
		s := at.serve(t, Options{}, nil)
		told := make(chan Event)
		for range clients {
			x := at.connect(t, s, Options{})
			go func() { told <- ends(x) }()
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		for range clients {
			want(t, patient.Value(told), reasonPeer, true, shell.Goodbye)
		}
		if st := s.Counts(); st.Conns != 0 || st.Ended != clients {
			t.Errorf("after the shutdown the server counts %+v", st)
		}
	})
}

func shutdownLetsArrive(t *testing.T, sh Shell) {
	sh.eachPlace(t, func(t *testing.T, at place) {
		words := []string{"one", "two", "three"}
		s := at.serve(t, Options{Linger: 10 * Unhurried}, welcome(t, Ordered, words...))
		x := at.connect(t, s, Options{})
		down := make(chan error)
		go func() { down <- s.Shutdown(t.Context()) }()
		var got []string
		for ev := range x.All() {
			if ev.Kind == Data {
				got = append(got, string(ev.Bytes))
			} else {
				want(t, ev, reasonPeer, true, shell.Goodbye)
			}
		}
		if err := patient.Value(down); err != nil || fmt.Sprint(got) != fmt.Sprint(words) {
			t.Errorf("shutdown: %v; %q came", err, got)
		}
	})
}

// vanish has a client disappear without a word.
func vanish(x RunningClient) {
	synctest.Wait()
	x.Break()
	patient.Value(x.Stopped())
}

// A server that shuts down turns newcomers away, and does not wait for clients that are gone for longer than the linger
// time.
func shutdownTurnsAway(t *testing.T, sh Shell) {
	synctest.Test(t, func(t *testing.T) {
		at := sh.memory()
		s := at.serve(t, Options{Linger: 2 * time.Second}, nil)
		vanish(at.connect(t, s, Options{}))
		start := time.Now()
		down := make(chan error)
		go func() { down <- s.Shutdown(t.Context()) }()
		synctest.Wait()
		_, err := at.tryDial(t.Context(), t, s.Addr(), Options{})
		want(t, sh.Why(err), reasonRejected, true, shell.Goodbye)
		if err := <-down; err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if took := time.Since(start); took < time.Second || took > 3*time.Second {
			t.Errorf("the shutdown took %v with a linger time of 2 s", took)
		}
	})
}

func shutdownEndsWithItsContext(t *testing.T, sh Shell) {
	synctest.Test(t, func(t *testing.T) {
		at := sh.memory()
		var last Event
		s := at.serve(t, Options{Linger: time.Minute}, func(_ Conn, ev Event) { last = ev })
		vanish(at.connect(t, s, Options{}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("shutdown: %v, want the context's error", err)
		}
		if st := s.Counts(); last.Kind != Ended || last.Reason != reasonClosed || st.Conns != 0 {
			t.Errorf("the handler's last event is %+v; %d connections are left", last, st.Conns)
		}
	})
}

func closeTellsAll(t *testing.T, sh Shell) {
	sh.eachPlace(t, func(t *testing.T, at place) {
		closed := make(chan Event, 10)
		s := at.serve(t, Options{}, func(_ Conn, ev Event) {
			if ev.Kind == Ended {
				closed <- ev
			}
		})
		x := at.connect(t, s, Options{})
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if len(closed) != 1 {
			t.Errorf("the handler got %d closed events, want 1", len(closed))
		}
		want(t, ends(x), reasonPeer, true, shell.Goodbye)
	})
}

// What is on its way to a client that is gone does not keep Close.
func closeDoesNotWait(t *testing.T, sh Shell) {
	synctest.Test(t, func(t *testing.T) {
		at := sh.memory()
		var conn Conn
		var last Event
		s := at.serve(t, Options{Linger: time.Hour}, func(c Conn, ev Event) { conn, last = c, ev })
		vanish(at.connect(t, s, Options{}))
		s.Do(func() {
			if err := conn.Send(Ordered, make([]byte, sh.MaxBytes)); err != nil {
				t.Error(err)
			}
			conn.Close("kicked")
		})
		start := time.Now()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 0 || last.Kind != Ended || last.Reason != reasonClosed {
			t.Errorf("close took %v and ended with %+v", took, last)
		}
	})
}

func closedServer(t *testing.T, sh Shell) {
	s, err := sh.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	if err := s.Do(func() { ran++ }); err != nil || ran != 1 {
		t.Errorf("Do on an open server: %v, ran %d times", err, ran)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := s.Do(func() { ran++ }); err != sh.ErrServerClosed || ran != 1 {
		t.Errorf("Do on a closed server: %v, ran %d times", err, ran)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Errorf("shutdown of a closed server: %v", err)
	}
	patient.Value(s.Done())
	if s.Counts().Turns == 0 {
		t.Error("the counters are gone")
	}
}

func addressInUse(t *testing.T, sh Shell) {
	s, err := sh.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = sh.Listen(s.Addr().String())
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.HasPrefix(err.Error(), sh.Name+": udp: listen on 127.0.0.1:") {
		t.Errorf("got %v", err)
	}
}

// Other goroutines reach connections through Do, with the right time: a game's tick.
func doReaches(t *testing.T, sh Shell) {
	synctest.Test(t, func(t *testing.T) {
		at := sh.memory()
		conns := map[Conn]bool{} // owned by the loop
		s := at.serve(t, Options{}, func(c Conn, ev Event) {
			switch ev.Kind {
			case Connected:
				conns[c] = true
			case Ended:
				delete(conns, c)
			}
		})
		clients := []RunningClient{at.connect(t, s, Options{}), at.connect(t, s, Options{})}
		time.Sleep(700 * time.Millisecond) // virtual: the newest packet is old
		for i := range 10 {
			err := s.Do(func() {
				if len(conns) != 2 {
					t.Errorf("%d connections, want 2", len(conns))
				}
				for c := range conns {
					if err := c.Send(Ordered, []byte{byte(i)}); err != nil {
						t.Error(err)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range clients {
				for ev := range x.All() {
					now, _ := x.Clock()
					if late := int64(now - ev.Time); ev.Kind != Data || ev.Bytes[0] != byte(i) || late < 0 || late > 1000 {
						t.Errorf("tick %d came as %+v, sent %d µs ago", i, ev, late)
					}
					break
				}
			}
			time.Sleep(50 * time.Millisecond) // virtual
		}
	})
}

func doFromMany(t *testing.T, sh Shell) {
	s, err := sh.Listen("127.0.0.1:0")
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

func brokenServer(t *testing.T, sh Shell) {
	sh.eachPlace(t, func(t *testing.T, at place) {
		var last Event
		s := at.serve(t, Options{}, func(_ Conn, ev Event) { last = ev })
		at.connect(t, s, Options{})
		s.Break()
		patient.Value(s.Done())
		if last.Kind != Ended || s.Counts().Conns != 0 {
			t.Errorf("the handler's last event is %+v, and %d connections are left", last, s.Counts().Conns)
		}
		if err := s.Do(func() {}); err != sh.ErrServerClosed {
			t.Errorf("Do: %v", err)
		}
		if err := s.Close(); !errors.Is(err, udp.ErrClosed) {
			t.Errorf("Close: %v, want why the socket failed", err)
		}
	})
}

func serverLog(t *testing.T, sh Shell) {
	synctest.Test(t, func(t *testing.T) {
		var out, there bytes.Buffer
		at := sh.memory()
		s := at.serve(t, Options{Log: shelltest.Log(&out)}, func(c Conn, ev Event) {
			if ev.Kind == Connected {
				c.Close("no show today")
			}
		})
		x := at.connect(t, s, Options{Log: shelltest.Log(&there)})
		want(t, ends(x), reasonPeer, true, "no show today")
		s.Close()
		head := fmt.Sprintf("proto=%s local=%v", sh.Name, s.Addr())
		lines := fmt.Sprintf("level=INFO msg=listening %[1]s\nlevel=INFO msg=connected %[1]s peer=%[2]v\n"+
			"level=INFO msg=disconnected %[1]s peer=%[2]v reason=closed text=\"no show today\"\n", head, x.LocalAddr())
		if out.String() != lines {
			t.Errorf("the server's log is\n%s\nwant\n%s", &out, lines)
		}
		head = fmt.Sprintf("proto=%s peer=%v", sh.Name, s.Addr())
		lines = fmt.Sprintf("level=INFO msg=connected %[1]s\n"+
			"level=INFO msg=disconnected %[1]s reason=\"%[2]s: connection ended: peer left: no show today\"\n", head, sh.Name)
		if there.String() != lines {
			t.Errorf("the client's log is\n%s\nwant\n%s", &there, lines)
		}
	})
}

// A log that nobody reads stops nothing: clients come, are heard and leave, and the server closes.
func hungLog(t *testing.T, sh Shell) {
	synctest.Test(t, func(t *testing.T) {
		hung := make(shelltest.Hung)
		at := sh.memory()
		s := at.serve(t, Options{Log: shelltest.Log(hung)}, func(c Conn, ev Event) {
			if ev.Kind == Connected {
				c.Close("no shouting")
			}
		})
		defer close(hung)
		for range 20 {
			want(t, ends(at.connect(t, s, Options{})), reasonPeer, true, "no shouting")
		}
		s.Close()
	})
}
