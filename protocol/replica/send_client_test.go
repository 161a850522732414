package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/kit"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell"
	"parley/internal/udp"
	"parley/protocol/replica/core"
)

// collector is a server that takes numbered messages of several senders, each in its order.
type collector struct {
	t    *testing.T
	next map[string]uint32
	end  chan Close // what the connection ended with
}

func newCollector(t *testing.T) *collector {
	return &collector{t, map[string]uint32{}, make(chan Close, 1)}
}

func (c *collector) take(_ *Conn, ev Event) {
	switch ev.Kind {
	case EventClosed:
		c.end <- ev.Close
	case EventMessage:
		name := string(ev.Name)
		if got := binary.LittleEndian.Uint32(ev.Data); ev.Ordered && got != c.next[name] {
			c.t.Errorf("message %d of %s came, want %d", got, name, c.next[name])
		}
		c.next[name]++
	}
}

// What was sent before Close comes, in the order of each sender and of all sizes: Close waits
// for what is not in the window yet as for what is.
func TestCloseSendsWhatWasSentBefore(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		c := newCollector(t)
		s := at.serve(t, Config{}, c.take)
		x := at.connect(t, s, Config{Linger: 10 * kit.Unhurried})
		const senders, each = 4, 1500
		var wg sync.WaitGroup
		for i := range senders {
			wg.Go(func() {
				data := make([]byte, 20_000)
				for n := range uint32(each) {
					binary.LittleEndian.PutUint32(data, n)
					size := 64
					if n%500 == 499 {
						size = len(data)
					}
					if err := x.SendWait(t.Context(), Ordered, fmt.Sprint(i), data[:size]); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		patient.Done(wg.Wait)
		for n := range uint32(100) {
			if err := x.SendWait(t.Context(), Reliable, "free", binary.LittleEndian.AppendUint32(nil, n)); err != nil {
				t.Error(err)
			}
		}
		if err := x.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		if got := patient.Value(c.end); got.Reason != core.ReasonPeer {
			t.Errorf("the server saw %+v", got)
		}
		for i := range senders {
			if got := c.next[fmt.Sprint(i)]; got != each {
				t.Errorf("%d of %d messages of sender %d came", got, each, i)
			}
		}
		if got := c.next["free"]; got != 100 {
			t.Errorf("%d of 100 messages without an order came", got)
		}
	})
}

// A server that takes nothing: Send says so once its bound is reached, SendWait waits, and
// Close waits for the linger time and no longer.
func TestSendToAServerThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{}, nil)
		x := at.connect(t, s, Config{})
		synctest.Wait()
		s.shell.Carrier().Close() // no goodbye
		<-s.Done()
		data, taken := make([]byte, 64), 0
		var err error
		for ; err == nil; taken++ {
			err = x.Send(Ordered, "n", data)
		}
		if most := (shell.MaxOutboxBytes + 256<<10) / 64; err != ErrWindowFull || taken > most {
			t.Errorf("%d messages were taken, then %v", taken, err)
		}
		synctest.Wait()
		for x.Send(Ordered, "n", data) == nil { // the window has taken some
			taken++
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := x.SendWait(ctx, Ordered, "n", data); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait: %v", err)
		}
		if err := x.Send(Unreliable, "loose", data); err != ErrWindowFull {
			t.Errorf("send: %v", err)
		}
		start := time.Now()
		if err := x.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		if took := time.Since(start); took != 500*time.Millisecond {
			t.Errorf("close took %v", took)
		}
		if err := x.Send(Ordered, "n", data); err != ErrClosed {
			t.Errorf("send after the end: %v", err)
		}
	})
}

// What is wrong with a message is said at once.
func TestSendChecksAtOnce(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		t.Run(fmt.Sprintf("foreign: %v", foreign), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := memory()
				s := at.serve(t, Config{Foreign: foreign}, nil)
				x := at.connect(t, s, Config{MaxMessage: 100_000})
				reserved := func(mode Mode, name string, data []byte) error { return x.SendReserved(mode, name, data) }
				wait := func(mode Mode, name string, data []byte) error {
					return x.SendWait(t.Context(), mode, name, data)
				}
				for _, tt := range []struct {
					name string
					send func(Mode, string, []byte) error
					mode Mode
					as   string
					size int
					want [2]error // to our own, to a foreign one
				}{
					{"fits", x.Send, Ordered, "n", 64, [2]error{}},
					{"waits and fits", wait, Ordered, "n", 64, [2]error{}},
					{"a long name", x.Send, Ordered, string(make([]byte, 256)), 1, [2]error{core.ErrName, core.ErrName}},
					{"not UTF-8", wait, Reliable, "\xff", 1, [2]error{core.ErrName, core.ErrName}},
					{"one of our names", x.Send, Ordered, "parley.n", 1, [2]error{core.ErrName, core.ErrName}},
					{"one of ours, as ours", reserved, Ordered, "parley.n", 1, [2]error{}},
					{"not ours, as ours", reserved, Ordered, "n", 1, [2]error{core.ErrName, core.ErrName}},
					{"large, ordered", x.Send, Ordered, "n", 70_000, [2]error{nil, ErrMessageSize}},
					{"too large, ordered", x.Send, Ordered, "n", 100_001, [2]error{ErrMessageSize, ErrMessageSize}},
					{"large, reliable", wait, Reliable, "n", 1200, [2]error{ErrMessageSize, nil}},
					{"large, unreliable", x.Send, Unreliable, "n", 1185, [2]error{ErrMessageSize, nil}},
					{"just fits, unreliable", x.Send, Unreliable, "n", 1184, [2]error{}},
				} {
					want := tt.want[0]
					if foreign {
						want = tt.want[1]
					}
					if err := tt.send(tt.mode, tt.as, make([]byte, tt.size)); err != want {
						t.Errorf("%s: %v, want %v", tt.name, err, want)
					}
					time.Sleep(time.Second) // virtual: so that the window is empty
				}
				if x.Err() != nil {
					t.Error(x.Err())
				}
			})
		})
	}
}

// T11: a message on its way from Send to the server's handler allocates nothing.
func TestSendDoesNotAllocate(t *testing.T) {
	promise.Keeps(t, "T11", "replica", 1)
	if kit.Race {
		t.Skip("the race detector allocates")
	}
	patient.Test(t)
	at := kernel(udp.Config{})
	got := make(chan struct{}, 1)
	have := 0
	s := at.serve(t, Config{}, func(_ *Conn, ev Event) {
		if ev.Kind == EventMessage {
			if have++; have%500 == 0 {
				got <- struct{}{}
			}
		}
	})
	x := at.connect(t, s, Config{})
	data := make([]byte, 64)
	turn := func() {
		for range 500 {
			if err := x.SendWait(t.Context(), Ordered, "name", data); err != nil {
				t.Fatal(err)
			}
		}
		<-got
	}
	for range 20 {
		turn()
	}
	// On a machine that is busy more packets are on their way than before, and tables grow.
	least := testing.AllocsPerRun(5, turn)
	for range 10 {
		least = min(least, testing.AllocsPerRun(5, turn))
	}
	if least > 2 {
		t.Errorf("%v allocations in 500 messages", least)
	}
}
