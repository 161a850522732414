package core

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
)

var (
	insider  = netip.MustParseAddrPort("10.0.0.1:5000")
	outsider = netip.MustParseAddrPort("10.0.0.2:5000")
)

// clockwork is a time server in virtual time.
type clockwork struct {
	*TimeServer
	now  time.Time
	live map[netip.Addr]bool
	sent map[netip.AddrPort][]string // by receiver, with when it was
	buf  [64]byte
}

func newClockwork() *clockwork {
	c := &clockwork{now: townEpoch, live: map[netip.Addr]bool{insider.Addr(): true}, sent: map[netip.AddrPort][]string{}}
	c.TimeServer = NewTimeServer(func(a netip.Addr) bool { return c.live[a] }, func(now time.Time) uint64 { return uint64(now.UnixMicro()) })
	return c
}

func (c *clockwork) ask(from netip.AddrPort, b []byte) {
	c.HandleDatagram(c.now, from, b)
	c.flush()
}

func (c *clockwork) flush() {
	for n, to, ok := c.PollTransmit(c.buf[:]); ok; n, to, ok = c.PollTransmit(c.buf[:]) {
		c.sent[to] = append(c.sent[to], string(c.buf[:n]))
	}
}

func (c *clockwork) advance(d time.Duration) {
	end := c.now.Add(d)
	for at, ok := c.NextTimeout(); ok && !at.After(end); at, ok = c.NextTimeout() {
		c.now = at
		c.HandleTimeout(at)
		c.flush()
	}
	c.now = end
}

// "An empty datagram starts a burst of u64 Unix µs, 8 bytes each, every 100 ms for 1 s."
func TestABurstOfTimes(t *testing.T) {
	c := newClockwork()
	c.ask(insider, nil)
	c.advance(10 * time.Second)
	if got := c.sent[insider]; len(got) != 10 {
		t.Fatalf("%d times, want 10", len(got))
	}
	for i, b := range c.sent[insider] {
		want := uint64(townEpoch.Add(time.Duration(i) * 100 * time.Millisecond).UnixMicro())
		if len(b) != 8 || binary.BigEndian.Uint64([]byte(b)) != want {
			t.Errorf("time %d is %x, want %x", i, b, want)
		}
	}
	c.ask(insider, nil)
	c.advance(10 * time.Second)
	if got := c.sent[insider]; len(got) != 20 {
		t.Errorf("%d times after a second burst", len(got))
	}
}

// The time server sends nothing to an address without a live connection, and one burst at a
// time to one with, from whatever port it asks.
func TestNothingIsReflected(t *testing.T) {
	c := newClockwork()
	r := kit.Rand(t)
	for range kit.Rounds(100_000, 1_000_000) {
		from := netip.AddrPortFrom(insider.Addr(), uint16(1+r.IntN(1000)))
		if r.IntN(2) == 0 {
			from = netip.AddrPortFrom(outsider.Addr(), from.Port())
		}
		c.ask(from, make([]byte, []int{0, 0, 0, 7, 9, 100}[r.IntN(6)]))
		if r.IntN(100) == 0 {
			c.advance(time.Duration(r.IntN(100)) * time.Millisecond)
		}
	}
	elapsed := c.now.Sub(townEpoch)
	c.advance(time.Minute)
	total := 0
	for to, list := range c.sent {
		if to.Addr() != insider.Addr() {
			t.Fatalf("%v was sent %d datagrams", to, len(list))
		}
		total += len(list)
	}
	if limit := int(elapsed/burstStep) + 20; total > limit {
		t.Errorf("%d datagrams in %v, want at most %d: one burst at a time", total, elapsed, limit)
	}
	s := c.Stats()
	if s.In != s.Bursts+s.Exchanges+s.Strangers+s.Running+s.Malformed || s.Strangers == 0 || s.Running == 0 || s.Malformed == 0 || s.Out != uint64(total) {
		t.Errorf("%+v", s)
	}
	if len(c.bursts) != 0 || c.running.Len() != 0 {
		t.Errorf("%d bursts are left", len(c.bursts))
	}
}

// A burst ends with the connection.
func TestABurstEndsWithItsConnection(t *testing.T) {
	c := newClockwork()
	c.ask(insider, nil)
	c.advance(250 * time.Millisecond)
	delete(c.live, insider.Addr())
	c.advance(time.Minute)
	if got := len(c.sent[insider]); got != 3 {
		t.Errorf("%d times were sent", got)
	}
}

// "An 8-byte datagram (version 10) is answered once with those 8 bytes and the server's u64."
func TestAnExchangeOfTimes(t *testing.T) {
	c := newClockwork()
	c.ask(insider, []byte("question"))
	c.ask(outsider, []byte("question"))
	if got := c.sent[insider]; len(got) != 1 || got[0][:8] != "question" || binary.BigEndian.Uint64([]byte(got[0][8:])) != uint64(townEpoch.UnixMicro()) {
		t.Errorf("%x", got)
	}
	if len(c.sent[outsider]) != 0 {
		t.Error("a stranger was answered")
	}
}

// The client's clock, by both versions, over a path with jitter: the quickest answer counts.
func TestTheClientsClock(t *testing.T) {
	r := kit.Rand(t)
	for _, version := range []uint16{9, 10} {
		var clock Clock
		ts := newClockwork()
		const ahead = 3 * time.Hour // of the client's clock
		best := time.Hour
		local := func(at time.Time) time.Time { return at.Add(ahead) }
		delay := func() time.Duration { return time.Duration(2+r.IntN(80)) * time.Millisecond }
		for range 10 {
			q := clock.AppendQuestion(local(ts.now), version, nil)
			up, down := delay(), delay()
			best = min(best, up+down)
			ts.now = ts.now.Add(up)
			ts.sent[insider] = nil
			ts.ask(insider, q)
			for i := 0; ; i++ {
				if len(ts.sent[insider]) > i {
					if !clock.HandleAnswer(local(ts.now.Add(down)), []byte(ts.sent[insider][i])) && !clock.Synced() {
						t.Fatal("the first answer was refused")
					}
				}
				if at, ok := ts.NextTimeout(); ok {
					ts.advance(at.Sub(ts.now))
				} else {
					break
				}
			}
			ts.now = ts.now.Add(down + time.Second)
		}
		now := ts.now.Add(time.Minute)
		got, want := clock.Time(local(now)), uint64(now.UnixMicro())
		off := time.Duration(int64(got-want)) * time.Microsecond
		if bound := clock.ErrorBound(local(now)); max(off, -off) > bound || version == 10 && max(off, -off) > best/2+time.Minute/1000 {
			t.Errorf("version %d: off by %v, bound %v, best round trip %v", version, off, bound, best)
		}
	}
	var clock Clock
	if clock.HandleAnswer(townEpoch, make([]byte, 8)) || clock.HandleAnswer(townEpoch, make([]byte, 16)) || clock.HandleAnswer(townEpoch, nil) || clock.Synced() {
		t.Error("an answer without a question was taken")
	}
}
