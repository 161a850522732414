package stamp

import (
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell"
	"parley/internal/shell/shelltest"
	"parley/protocol/stamp/core"
)

// T11, T39: while no one reads, what a client holds is bounded and the server
// feels it; when someone does, all that was sent comes, once and in order.
func TestAClientThatDoesNotReadHoldsItsServerBack(t *testing.T) {
	promise.Keeps(t, "T11 T39", "stamp", 1)
	for _, mode := range []Mode{Reliable, Ordered} {
		for _, size := range []int{4, 150, 1000, MaxData} {
			t.Run(fmt.Sprintf("%v packets of %d bytes", mode, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { stall(t, memory(), mode, size) })
			})
		}
	}
}

func stall(t *testing.T, at *place, mode Mode, size int) {
	var f flood
	s := at.serve(t, Config{}, func(c *Conn, _ Event) { f.conn = c })
	x := at.connect(t, s, Config{})
	fill := func() { f.fill(mode, size) }
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
		t.Errorf("the server got rid of %d further packets that no one read", f.sent-stuck)
	}
	held := int64(stuck) * int64(size)
	const bounds = 256<<10 + 256<<10 + 256<<10 + shell.MaxQueuedEventBytes + MaxData // what waits for its turn, both engines', the client's
	if held > bounds {
		t.Errorf("%d bytes are on their way, more than all bounds together: %d", held, bounds)
	}
	if n, b := x.shell.Queued(); n > shell.MaxQueuedEvents || b != int64(n*size) || b > shell.MaxQueuedEventBytes+int64(size) {
		t.Errorf("%d events of %d bytes are queued", n, b)
	}
	t.Logf("%d packets of %d bytes are held; the client refused %d", stuck, size, x.Stats().Reliable.Refused)

	seen, more := map[uint32]bool{}, 1+20_000/size // it flows again
	defer shelltest.Repeat(10*time.Millisecond, func() { s.Do(fill) })()
	for ev := range x.Events() {
		if ev.Kind != EventEntity {
			t.Fatalf("after %d of %d: %v (%v)", len(seen), f.sent, ev.Kind, ev.Close)
		}
		n := binary.LittleEndian.Uint32(ev.Data)
		if seen[n] || len(ev.Data) != size || mode == Ordered && int(n) != len(seen) {
			t.Fatalf("got packet %d of %d bytes as number %d", n, len(ev.Data), len(seen))
		}
		if seen[n] = true; len(seen) >= int(stuck)+more {
			break
		}
	}
	if n := s.Stats().Conns; n != 1 {
		t.Errorf("%d connections", n)
	}
}

// T39: a client that never reads again is closed with a reason, and its neighbour does not
// notice.
func TestAClientThatNeverReadsIsClosedAndHarmsNoOne(t *testing.T) {
	promise.Keeps(t, "T39", "stamp", 1)
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		var lazy, keen flood
		closed := map[*Conn]Close{}
		s := at.serve(t, Config{}, func(c *Conn, ev Event) {
			switch ev.Kind {
			case EventConnected:
				if lazy.conn == nil {
					lazy.conn = c
				} else {
					keen.conn = c
				}
			case EventClosed:
				closed[c] = ev.Close
			}
		})
		x := at.connect(t, s, Config{})
		y := at.connect(t, s, Config{})
		read := make(chan uint32, 1)
		go func() {
			n := uint32(0)
			for ev := range y.Events() {
				if ev.Kind == EventEntity && binary.LittleEndian.Uint32(ev.Data) != n {
					t.Errorf("the keen reader got %d, want %d", binary.LittleEndian.Uint32(ev.Data), n)
				} else if ev.Kind == EventEntity {
					n++
				}
			}
			read <- n
		}()
		slowest := time.Duration(0)
		for range 500 { // 25 s of ticks; 10 resends take 20 s where no round trip is known
			s.Do(func() {
				lazy.fill(Ordered, 1000)
				for range 10 {
					data := binary.LittleEndian.AppendUint32(nil, keen.sent)
					if keen.conn.Send(Ordered, data) == nil {
						keen.sent++
					}
				}
			})
			start := time.Now()
			synctest.Wait() // all that can happen now has happened
			slowest = max(slowest, time.Since(start))
			time.Sleep(50 * time.Millisecond) // virtual
		}
		if why, ok := closed[lazy.conn]; !ok || why.Reason != core.ReasonUnacknowledged {
			t.Errorf("the client that does not read ended with %+v, %v", why, ok)
		}
		if _, ok := closed[keen.conn]; ok {
			t.Errorf("the keen reader ended with %+v", closed[keen.conn])
		}
		if n, b := x.shell.Queued(); n > shell.MaxQueuedEvents || b > shell.MaxQueuedEventBytes+1000 {
			t.Errorf("%d events of %d bytes are queued", n, b)
		}
		if slowest != 0 {
			t.Errorf("a tick waited for %v", slowest)
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if n := <-read; n != keen.sent || n < 4900 {
			t.Errorf("the keen reader read %d of %d", n, keen.sent)
		}
	})
}

// Close may be called by who reads events, also when it does not read on.
func TestCloseInsideEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		var f flood
		s := at.serve(t, Config{}, func(c *Conn, _ Event) { f.conn = c })
		x := at.connect(t, s, Config{})
		s.Do(func() { f.fill(Ordered, 200) })
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

// A reader who is slower than its server's goodbye still gets all packets.
func TestPacketsBeforeAGoodbyeAreRead(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		const n = 3 * shell.MaxQueuedEvents
		var conn *Conn
		s := at.serve(t, Config{}, func(c *Conn, _ Event) { conn = c })
		x := at.connect(t, s, Config{})
		s.Do(func() {
			for i := range n {
				if err := conn.Send(Reliable, binary.LittleEndian.AppendUint32(nil, uint32(i))); err != nil {
					t.Error(err)
				}
			}
		})
		waitFor(t, s, func() (all bool) {
			s.Do(func() { all = conn.Pressure().Bytes == 0 })
			return all
		})
		s.Do(func() { conn.Close("that was all") })
		patient.Value(x.shell.Over())
		seen := map[uint32]bool{}
		for ev := range x.Events() {
			if ev.Kind == EventEntity {
				seen[binary.LittleEndian.Uint32(ev.Data)] = true
			} else if ev.Close.Text != "that was all" {
				t.Errorf("got %v (%+v)", ev.Kind, ev.Close)
			}
		}
		if len(seen) != n {
			t.Errorf("%d of %d packets came", len(seen), n)
		}
		patient.Value(x.shell.Loop().Done()) // without Close: there is nothing left to do
	})
}
