package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
	"parley/protocol/replica/core"
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

func TestDialIsRejectedByAFullServer(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		s := at.serve(t, Config{MaxConns: 1}, echo(t))
		first := at.connect(t, s, Config{})
		if err := first.Send(Reliable, "here", nil); err != nil {
			t.Fatal(err)
		}
		wantMessage(t, first, "here", nil)
		_, err := at.tryDial(t.Context(), t, s.Addr(), Config{})
		var refused Close
		if !errors.As(err, &refused) || refused != (Close{Reason: core.ReasonRejected, Remote: true, Text: "server full"}) {
			t.Errorf("got %v", err)
		}
		if first.Err() != nil {
			t.Errorf("the first client ended: %v", first.Err())
		}
	})
}

func TestDialNeedsAnAddress(t *testing.T) {
	for _, addr := range []string{"", "nonsense", ":7000", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:seven"} {
		if x, err := Dial(t.Context(), addr, Config{}); err == nil {
			t.Errorf("dial %q: no error", addr)
			x.Close(t.Context())
		} else if want := "replica: "; err.Error()[:len(want)] != want {
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

// flood fills the way to a client: it sends numbered ordered messages whenever
// there is room, and counts those that were taken.
type flood struct {
	conn *Conn
	sent uint32
}

func (f *flood) fill(size int) {
	for data := make([]byte, size); ; f.sent++ {
		binary.LittleEndian.PutUint32(data, f.sent)
		if err := f.conn.Send(Ordered, "n", data); err != nil {
			return
		}
	}
}

// T11, T39: while no one reads, what a client holds is bounded and the server
// feels it; when someone does, all that was sent comes, once and in order.
func TestAClientThatDoesNotReadHoldsItsServerBack(t *testing.T) {
	promise.Keeps(t, "T11 T39", "replica", 1)
	for _, size := range []int{150, 1000, 100_000, 1 << 20} {
		t.Run(fmt.Sprintf("messages of %d bytes", size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { stall(t, memory(), size) })
		})
	}
}

func stall(t *testing.T, at *place, size int) {
	var f flood
	s := at.serve(t, Config{}, func(c *Conn, ev Event) { f.conn = c })
	x := at.connect(t, s, Config{})
	synctest.Wait()
	fill := func() { f.fill(size) }
	for range 50 { // 5 s of it
		if err := s.Do(fill); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // virtual
	}
	stuck := f.sent
	for range 10 {
		s.Do(fill)
		time.Sleep(100 * time.Millisecond)
	}
	if f.sent != stuck {
		t.Errorf("the server got rid of %d further messages that no one read", f.sent-stuck)
	}
	held := int64(stuck) * int64(size)
	const windows = 1<<20 + 512<<10 + 256<<10 + 256<<10 + shell.MaxQueuedEventBytes + 2<<20 // ours, the queue, both engines', a message beyond twice
	if held > windows {
		t.Errorf("%d bytes are on their way, more than all bounds together: %d", held, windows)
	}
	if n, b := x.shell.Queued(); n > shell.MaxQueuedEvents || b > shell.MaxQueuedEventBytes+int64(size)+10 {
		t.Errorf("%d events of %d bytes are queued", n, b)
	}
	t.Logf("%d messages of %d bytes are held; the client refused %d packets", stuck, size, x.Stats().Reliable.Refused)

	next, more := uint32(0), uint32(1+20_000/size) // it flows again
	defer shelltest.Repeat(10*time.Millisecond, func() { s.Do(fill) })()
	for ev := range x.Events() {
		if ev.Kind != EventMessage {
			t.Fatalf("after %d of %d: %v (%v)", next, f.sent, ev.Kind, ev.Close)
		}
		if got := binary.LittleEndian.Uint32(ev.Data); got != next || len(ev.Data) != size {
			t.Fatalf("got message %d of %d bytes, want %d of %d", got, len(ev.Data), next, size)
		}
		if next++; next == stuck+more {
			break
		}
	}
	if n := s.Stats().Conns; n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A message that is larger than the queue's bytes passes, alone.
func TestAMessageLargerThanTheQueuePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{}, echo(t))
		x := at.connect(t, s, Config{})
		big := make([]byte, 1<<20)
		for range 5 {
			if err := x.Send(Ordered, "big", big); err != nil {
				t.Fatal(err)
			}
			wantMessage(t, x, "big", big)
		}
		if _, n := x.shell.Queued(); n != 0 {
			t.Errorf("%d bytes are counted in an empty queue", n)
		}
	})
}

func TestCloseWhileSending(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		s := at.serve(t, Config{}, nil)
		x := at.connect(t, s, Config{})
		var wg sync.WaitGroup
		busy := make(chan struct{}, 8)
		for i := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					err := x.Send(Mode(i%3), "n", make([]byte, 100))
					if n == 20 {
						busy <- struct{}{}
					}
					if err == ErrClosed {
						return
					}
					if err != nil && err != ErrWindowFull {
						t.Errorf("send: %v", err)
						return
					}
				}
			})
		}
		for range 8 {
			patient.Value(busy)
		}
		if err := x.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		patient.Done(wg.Wait)
		if err := x.Send(Ordered, "late", nil); err != ErrClosed {
			t.Errorf("send after close: %v", err)
		}
	})
}

func TestEventsEndAfterClose(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		s := at.serve(t, Config{}, echo(t))
		x := at.connect(t, s, Config{})
		ended := make(chan Close)
		for range 3 { // readers that wait
			go func() { ended <- ends(x) }()
		}
		for range 3 { // and several who close
			go x.Close(t.Context())
		}
		for range 3 {
			if got := patient.Value(ended); got != (Close{Reason: core.ReasonClosed}) {
				t.Errorf("a reader saw %+v", got)
			}
		}
		for range x.Events() { // again, at once
		}
		if err := x.Close(t.Context()); err != nil {
			t.Errorf("close again: %v", err)
		}
		if got := x.Err(); got != error(Close{Reason: core.ReasonClosed}) {
			t.Errorf("Err is %v", got)
		}
		if err := x.Do(func(*Values) { t.Error("ran") }); err != ErrClosed {
			t.Errorf("Do after close: %v", err)
		}
		if st := x.Stats(); st.In == 0 || st.Out == 0 {
			t.Errorf("the counters are %+v", st)
		}
		_, _ = x.RTT(), x.ServerTime()
	})
}

// Close may be called by who reads events, also when it does not read on.
func TestCloseInsideEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		var f flood
		s := at.serve(t, Config{}, func(c *Conn, ev Event) { f.conn = c })
		x := at.connect(t, s, Config{})
		synctest.Wait()
		s.Do(func() { f.fill(200) })
		time.Sleep(2 * time.Second) // virtual: all queues are full
		n, closed := 0, 0
		for ev := range x.Events() {
			if n++; n == 1 {
				if err := x.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if ev.Kind == EventClosed {
				closed = n
			}
		}
		if n < shell.MaxQueuedEvents || n > shell.MaxQueuedEvents+5 || closed != n {
			t.Errorf("%d events came, closed as number %d; want about the %d that were queued, and closed", n, closed, shell.MaxQueuedEvents)
		}
	})
}

// A reader who is slower than its server's goodbye still gets all messages.
func TestMessagesBeforeAGoodbyeAreRead(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		const n = 3 * shell.MaxQueuedEvents
		// Acks are counted below, also those of packets that came twice: the goodbye waits for the rest.
		s := at.serve(t, Config{Linger: 10 * unhurried}, func(c *Conn, ev Event) {
			if ev.Kind != EventMessage {
				return
			}
			if string(ev.Name) == "bye" {
				c.Close("that was all")
				return
			}
			for i := range n {
				if err := c.Send(Ordered, "n", []byte{byte(i)}); err != nil {
					t.Error(err)
				}
			}
		})
		x := at.connect(t, s, Config{})
		if err := x.Send(Ordered, "go", nil); err != nil {
			t.Fatal(err)
		}
		waitFor(t, s, func() bool { return x.Stats().Reliable.AcksOut >= n })
		if err := x.Send(Ordered, "bye", nil); err != nil {
			t.Fatal(err)
		}
		patient.Value(x.shell.Over())
		if x.Send(Ordered, "late", nil) != ErrClosed {
			t.Error("a message was taken after the server's goodbye")
		}
		got := 0
		for ev := range x.Events() {
			if ev.Kind == EventMessage {
				if ev.Data[0] != byte(got) {
					t.Fatalf("message %d is %d", got, ev.Data[0])
				}
				got++
			} else if ev.Close.Text != "that was all" {
				t.Errorf("got %v (%+v)", ev.Kind, ev.Close)
			}
		}
		if got != n {
			t.Errorf("%d of %d messages came", got, n)
		}
		patient.Value(x.shell.Loop().Done()) // without Close: there is nothing left to do
	})
}

// Close does not wait for a server that is gone longer than the linger time, nor
// than its context.
func TestCloseLingers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		says    bool // a message is not acknowledged
		linger  time.Duration
		context time.Duration
		want    time.Duration
		err     error
	}{
		{"for the linger time", false, 0, time.Hour, 500 * time.Millisecond, nil},
		{"as configured", false, 3 * time.Second, time.Hour, 3 * time.Second, nil},
		{"until its context ends", false, 3 * time.Second, 200 * time.Millisecond, 200 * time.Millisecond, context.DeadlineExceeded},
		{"not at all", false, 3 * time.Second, 0, 0, context.DeadlineExceeded},
		{"for a message and for its goodbye", true, 0, time.Hour, 500 * time.Millisecond, nil},
		{"for a message until its context ends", true, 0, 100 * time.Millisecond, 100 * time.Millisecond, context.DeadlineExceeded},
		{"not at all, whatever is on its way", true, 3 * time.Second, 0, 0, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := memory()
				s := at.serve(t, Config{}, nil)
				x := at.connect(t, s, Config{Linger: tt.linger})
				synctest.Wait()
				s.shell.Socket().Close() // no goodbye
				<-s.Done()
				if tt.says {
					if err := x.Send(Ordered, "last", make([]byte, 5000)); err != nil {
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
		synctest.Wait()
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

func TestASocketThatFailsEndsTheClient(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		s := at.serve(t, Config{}, nil)
		x := at.connect(t, s, Config{})
		x.shell.Loop().Socket().Close()
		if got := ends(x); got.Text == "" {
			t.Errorf("ended with %+v", got)
		}
		if err := x.Err(); !errors.Is(err, udp.ErrClosed) {
			t.Errorf("Err is %v", err)
		}
		if err := x.Send(Ordered, "late", nil); err != ErrClosed {
			t.Errorf("send: %v", err)
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
		time.Sleep(5 * time.Second) // virtual: some syncs
		var there uint64
		s.Do(func() { there = conn.ServerTime() })
		if off := int64(x.ServerTime() - there); off < -1000 || off > 1000 {
			t.Errorf("the clocks are %d µs apart", off)
		}
		if rtt := x.RTT(); rtt > 2*time.Millisecond {
			t.Errorf("the round trip in memory is %v", rtt)
		}
		if a := x.LocalAddr(); a.Addr() != netip.MustParseAddr("127.0.0.1") || a != conn.Peer() {
			t.Errorf("the client is at %v, the server sees %v", a, conn.Peer())
		}
	})
}
