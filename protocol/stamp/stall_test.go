package stamp

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/promise"
	"parley/internal/shell"
	"parley/protocol/stamp/core"
)

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
