package stamp

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"parley/protocol/stamp/core"
)

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
