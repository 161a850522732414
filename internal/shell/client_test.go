package shell_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/internal/shell"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
)

func TestDialConnects(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		x := connect(t, at, h)
		h.wants(t, "came")
		if err := x.Err(); err != nil {
			t.Errorf("Err of a connection that lives: %v", err)
		}
		if err := h.Do(func() {
			if h.host.guests[0] != x.LocalAddr() {
				t.Errorf("the client is at %v, the server sees %v", x.LocalAddr(), h.host.guests[0])
			}
		}); err != nil {
			t.Error(err)
		}
	})
}

func TestDialIsRefused(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		if err := h.Do(func() { h.host.closing = true }); err != nil {
			t.Fatal(err)
		}
		if x, err := dial(t.Context(), t, at, h.Addr()); x != nil || err != errRefused {
			t.Errorf("dial: %v, %v", x, err)
		}
	})
}

// A Dial that fails leaves nothing behind that would still send or receive.
func TestDialThatFailsHasClosedItsSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := shelltest.Memory()
		h := serve(t, at)
		h.Do(func() { h.host.closing = true })
		var socket *udp.Socket
		_, err := dial(t.Context(), t, at, h.Addr(), func(g *guest, _ *shell.ClientConfig[event]) {
			socket, g.lastWords = g.socket, time.Second
		})
		if err != errRefused {
			t.Errorf("dial: %v", err)
		}
		out := socket.NewSendBatch()
		out.Append([]byte("still here"), h.Addr())
		if err := socket.Write(out); err != udp.ErrClosed {
			t.Errorf("the socket of a client that was refused: %v", err)
		}
	})
}

func TestDialEndsWithItsContext(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		if err := h.Do(func() { h.host.greet = nil }); err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		for _, ctx := range []context.Context{soon, shelltest.Ended()} {
			x, err := dial(ctx, t, at, h.Addr())
			if x != nil || !errors.Is(err, ctx.Err()) || !strings.HasPrefix(err.Error(), "tiny: dial "+h.Addr().String()+": ") {
				t.Errorf("dial: %v, %v", x, err)
			}
		}
	})
}

// A client in the middle of its handshake that has to say goodbye is not waited for.
func TestDialThatIsGivenUpDoesNotLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := shelltest.Memory()
		h := serve(t, at)
		h.Carrier().Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := dial(ctx, t, at, h.Addr(), func(g *guest, c *shell.ClientConfig[event]) {
			g.hangUp = func() { g.in, g.hangUp = true, nil; g.Close(g.now, "") } // says bye, and waits
			g.linger = time.Hour
		})
		if took := time.Since(start); took != time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial: %v after %v", err, took)
		}
	})
}

func TestDialWithASocketThatFails(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		if err := h.Do(func() { h.host.greet = nil }); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		socket := at.Dial(t, h.Addr())
		failed := make(chan error)
		go func() {
			g := &guest{server: h.Addr(), next: time.Now()}
			_, err := shell.Dial(t.Context(), socket, g, shell.ClientConfig[event]{
				Name: "tiny", Log: shelltest.Log(&out), Kind: kind, First: connected, Final: closed,
			})
			failed <- err
		}()
		h.wants(t, "came") // so the loop runs
		socket.Close()
		if err := patient.Value(failed); !errors.Is(err, udp.ErrClosed) || !strings.HasPrefix(err.Error(), "tiny: udp: ") {
			t.Errorf("dial: %v", err)
		}
		if want := fmt.Sprintf("level=INFO msg=disconnected proto=tiny peer=%v reason=\"tiny: udp: closed\"\n", h.Addr()); out.String() != want {
			t.Errorf("the log is\n%swant\n%s", &out, want)
		}
	})
}

// A connection that is made, hears something and is ended, all in one moment, was made:
// what it heard is to be read.
func TestAConnectionThatEndsAsItBeginsWasMade(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		for range 20 {
			h := serve(t, at)
			if err := h.Do(func() { h.host.greet = []string{"welcome", "news", "closing"} }); err != nil {
				t.Fatal(err)
			}
			x := connect(t, at, h)
			if news, why := x.rest(); !slices.Equal(news, []string{"news"}) || why != errSent {
				t.Fatalf("it heard %q and ended with %v", news, why)
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The same where Dial is slower than the loop, and where the loop takes its time between
// telling the one and the other.
func TestAConnectionThatIsOverBeforeDialLooksWasMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := shelltest.Memory()
		h := serve(t, at)
		for i := range 50 {
			ctx := t.Context()
			if i%2 == 0 {
				ctx = slowContext{ctx}
			}
			x, err := dial(ctx, t, at, h.Addr(), func(g *guest, c *shell.ClientConfig[event]) {
				g.in = true
				g.events = append(g.events, event{kind: connected}, event{news: "news"})
				g.end(errSent)
				c.Log = shelltest.Log(sleeper{})
			})
			if err != nil {
				t.Fatal(err)
			}
			if news, why := x.rest(); !slices.Equal(news, []string{"news"}) || why != errSent {
				t.Fatalf("it heard %q and ended with %v", news, why)
			}
		}
	})
}

// slowContext takes its time before it can be waited for.
type slowContext struct{ context.Context }

func (c slowContext) Done() <-chan struct{} {
	time.Sleep(time.Second)
	return c.Context.Done()
}

// sleeper is a log that takes its time.
type sleeper struct{}

func (sleeper) Write(b []byte) (int, error) {
	time.Sleep(time.Millisecond)
	return len(b), nil
}

func TestClientDoRunsWithThePresentTime(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		x := connect(t, at, h)
		if at.Network != nil {
			time.Sleep(time.Hour) // virtual
		}
		before := time.Now()
		if err := x.Do(func(now time.Time) {
			if now.Before(before) || now.After(time.Now()) || x.guest.now != now {
				t.Errorf("Do at %v ran at %v, the core's time is %v", before, now, x.guest.now)
			}
		}); err != nil {
			t.Fatal(err)
		}
		x.Ask(func(now time.Time) { before = now })
		x.Close(t.Context())
		if err := x.Do(func(time.Time) { t.Error("it ran") }); err != errClosed {
			t.Errorf("Do after Close: %v", err)
		}
		var wg sync.WaitGroup
		asked := 0
		for range 20 { // one at a time, also when there is no loop any more
			wg.Go(func() { x.Ask(func(time.Time) { asked++ }) })
		}
		if patient.Done(wg.Wait); asked != 20 {
			t.Errorf("%d of 20 were asked", asked)
		}
	})
}

func TestCloseWaitsForTheAnswer(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		x := connect(t, at, h)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := x.Close(t.Context()); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
		patient.Done(wg.Wait)
		h.wants(t, "came", "left")
		if err := x.Err(); err != errLeft {
			t.Errorf("it ended with %v", err)
		}
		if err := x.Close(shelltest.Ended()); err != nil {
			t.Errorf("close of what is closed: %v", err)
		}
		patient.Value(x.Over())
		patient.Value(x.Loop().Done())
	})
}

func TestCloseOfAServerThatIsGone(t *testing.T) {
	for _, tt := range []struct {
		name    string
		context time.Duration
		want    time.Duration
		err     error
		why     error
	}{
		{"lingers", time.Hour, time.Second, nil, errLeft},
		{"ends with its context", 300 * time.Millisecond, 300 * time.Millisecond, context.DeadlineExceeded, errCut},
		{"does not wait at all", 0, 0, context.DeadlineExceeded, errCut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := shelltest.Memory()
				h := serve(t, at)
				x := connect(t, at, h)
				h.Carrier().Close()
				ctx, cancel := context.WithTimeout(t.Context(), tt.context)
				defer cancel()
				start := time.Now()
				err := x.Close(ctx)
				if !errors.Is(err, tt.err) || err != nil && !strings.HasPrefix(err.Error(), "tiny: close: ") {
					t.Errorf("close: %v", err)
				}
				if took := time.Since(start); took != tt.want {
					t.Errorf("it took %v, want %v", took, tt.want)
				}
				if x.Err() != tt.why {
					t.Errorf("it ended with %v", x.Err())
				}
			})
		})
	}
}

// An endpoint that is over as soon as it hangs up keeps nobody waiting.
func TestCloseOfWhatEndsAtOnceIsNeverLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := shelltest.Memory()
		h := serve(t, at)
		x, err := dial(t.Context(), t, at, h.Addr(), func(g *guest, c *shell.ClientConfig[event]) {
			g.hangUp = func() { g.end(errLeft) }
			c.Log = shelltest.Log(sleeper{})
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Close(shelltest.Ended()); err != nil || x.Err() != errLeft {
			t.Fatalf("close: %v; it ended with %v", err, x.Err())
		}
	})
}

// Whoever closes what is over already is not late, whatever the context.
func TestCloseOfWhatIsOverIsNeverLate(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		for range 20 {
			h := serve(t, at)
			x := connect(t, at, h)
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			patient.Value(x.Over())
			if err := x.Close(shelltest.Ended()); err != nil || x.Err() != errSent {
				t.Fatalf("close: %v; it ended with %v", err, x.Err())
			}
		}
	})
}

func TestASocketThatFailsEndsTheClient(t *testing.T) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) {
		h := serve(t, at)
		x := connect(t, at, h)
		h.wants(t, "came")
		x.Loop().Carrier().Close()
		patient.Value(x.Over())
		_, why := x.rest()
		for _, err := range []error{why, x.Err(), x.Close(t.Context())} {
			if !errors.Is(err, udp.ErrClosed) || !strings.HasPrefix(err.Error(), "tiny: udp: ") {
				t.Errorf("it ended with %v", err)
			}
		}
		x.Ask(func(time.Time) {})
	})
}

func TestTheLogOfAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		at := shelltest.Memory()
		h := serve(t, at)
		x, err := dial(t.Context(), t, at, h.Addr(), func(_ *guest, c *shell.ClientConfig[event]) { c.Log = shelltest.Log(&out) })
		if err != nil {
			t.Fatal(err)
		}
		x.Close(t.Context())
		head := fmt.Sprintf("proto=tiny peer=%v", h.Addr())
		if want := fmt.Sprintf("level=INFO msg=connected %[1]s\nlevel=INFO msg=disconnected %[1]s reason=left\n", head); out.String() != want {
			t.Errorf("the log is\n%swant\n%s", &out, want)
		}
	})
}
