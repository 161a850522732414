package carry_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/carry"
	"parley/internal/datagram"
	"parley/internal/way"
)

var browser = netip.MustParseAddrPort("192.0.2.7:5000")

// echo is a core that sends back what comes, many times if it is told to.
type echo struct {
	times int
	out   []datagram.Message
	seen  []netip.AddrPort
	gone  []netip.AddrPort
}

func (e *echo) HandleDatagram(_ time.Time, from netip.AddrPort, b []byte) {
	e.seen = append(e.seen, from)
	for range e.times {
		e.out = append(e.out, datagram.Message{From: from, Data: bytes.Clone(b)})
	}
}
func (e *echo) HandleGone(_ time.Time, from netip.AddrPort) { e.gone = append(e.gone, from) }
func (e *echo) HandleTimeout(time.Time)                     {}
func (e *echo) NextTimeout() (at time.Time, ok bool)        { return at, false }
func (e *echo) PollTransmit(buf []byte) (n int, to netip.AddrPort, ok bool) {
	if len(e.out) == 0 {
		return 0, to, false
	}
	m := e.out[0]
	e.out = e.out[1:]
	return copy(buf, m.Data), m.From, true
}

// place is a hall with a core behind it.
type place struct {
	building *carry.Building
	hall     *carry.Hall
	core     *echo
	loop     *datagram.Loop
}

func newPlace(t *testing.T, times int, c carry.Config) *place {
	b := carry.NewBuilding(c)
	p := &place{building: b, hall: b.Hall("echo"), core: &echo{times: times}}
	p.loop = datagram.StartLoop(carry.Join(datagram.NewSilent(netip.AddrPort{}, netip.AddrPort{}), p.hall), p.core, datagram.LoopConfig{})
	t.Cleanup(func() { p.loop.Close() })
	return p
}

func (p *place) open(t *testing.T, kind way.Kind) (*carry.Session, func() []carry.Why) {
	t.Helper()
	var mu sync.Mutex
	var ends []carry.Why
	s, err := p.hall.Open(carry.Opening{Source: browser, Kind: kind, Ready: func() {}, End: func(why carry.Why) {
		mu.Lock()
		defer mu.Unlock()
		ends = append(ends, why)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s, func() []carry.Why {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(ends)
	}
}

// A datagram of a session reaches the core from an address of the session's own, and what the core answers reaches the session.
func TestDatagramsOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, 1, carry.Config{})
		a, _ := p.open(t, way.WebSocket)
		b, _ := p.open(t, way.WebTransport)
		if a.Addr() == b.Addr() || way.KindOf(a.Addr().Addr()) != way.WebSocket || way.KindOf(b.Addr().Addr()) != way.WebTransport {
			t.Errorf("sessions have the addresses %v and %v", a.Addr(), b.Addr())
		}
		if got := p.hall.Source(a.Addr()); got != browser {
			t.Errorf("the source of %v is %v, want %v", a.Addr(), got, browser)
		}
		var buf [carry.MaxDatagram]byte
		for i := range 1000 {
			text := fmt.Sprint("hello ", i)
			a.Deliver([]byte(text))
			synctest.Wait()
			n, ok := a.Next(buf[:])
			if !ok || string(buf[:n]) != text {
				t.Fatalf("%q was answered with %q, %v", text, buf[:n], ok)
			}
		}
		if _, ok := b.Next(buf[:]); ok {
			t.Error("the other session got something")
		}
		a.Close()
		b.Close()
		synctest.Wait()
		if len(p.core.gone) != 2 {
			t.Errorf("the core was told of the ends of %v", p.core.gone)
		}
		if st := p.hall.Stats(); st.Open != 0 || st.Opened != 2 || st.Left != 2 || st.In != 1000 || st.Out != 1000 {
			t.Errorf("stats: %+v", st)
		}
		if got := p.hall.Source(a.Addr()); got != a.Addr() {
			t.Errorf("an ended session is remembered: %v", got)
		}
	})
}

// "Whole datagrams are dropped, oldest first, and counted", and "10 s without a byte taken ends it" (carriers).
func TestASessionThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, 1000, carry.Config{})
		s, ends := p.open(t, way.WebSocket)
		s.Deliver(make([]byte, 1000))
		p.hall.Welcome(s.Addr())
		synctest.Wait()
		var buf [carry.MaxDatagram]byte
		n := 0
		for _, ok := s.Next(buf[:]); ok; _, ok = s.Next(buf[:]) {
			n++
		}
		if want := 256 << 10 / 1002; n != want || p.hall.Stats().OutOld != uint64(1000-want) {
			t.Errorf("%d wait and %d were dropped, want %d and %d", n, p.hall.Stats().OutOld, want, 1000-want)
		}
		time.Sleep(20 * time.Second)
		s.Deliver([]byte("x"))
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if len(ends()) != 0 {
			t.Errorf("it was ended too early: %v", ends())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(ends()) != 1 || ends()[0] != carry.Stuck {
			t.Errorf("it was ended for %v, want %v", ends(), carry.Stuck)
		}
		s.Close()
	})
}

// Sessions end that have no connection of the dialect in time, or send too much.
func TestSessionsThatAreNotWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, 0, carry.Config{})
		silent, silentEnds := p.open(t, way.WebSocket)
		flood, floodEnds := p.open(t, way.WebSocket)
		sent := 0
		for flood.Deliver([]byte("x")) {
			if sent++; sent > 100_000 {
				t.Fatal("a flood goes on and on")
			}
		}
		for range 15 {
			time.Sleep(time.Second)
			silent.Deliver([]byte("begin"))
		}
		synctest.Wait()
		if a, b := silentEnds(), floodEnds(); len(a) != 1 || a[0] != carry.Silent || len(b) != 1 || b[0] != carry.Flood {
			t.Errorf("they were ended for %v and %v", a, b)
		}
		silent.Close()
		flood.Close()
	})
}

// A session whose connection is over gets the goodbye, and then is to end: not before, and not long after.
func TestTheGoodbyeComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, 1, carry.Config{})
		s, ends := p.open(t, way.WebSocket)
		p.loop.Do(func() {
			p.core.out = append(p.core.out, datagram.Message{From: s.Addr(), Data: []byte("goodbye")})
			p.hall.Hangup(s.Addr())
		})
		synctest.Wait()
		var buf [carry.MaxDatagram]byte
		if n, _ := s.Next(buf[:]); string(buf[:n]) != "goodbye" || !s.Leaving() {
			t.Errorf("got %q, and leaving is %v", buf[:n], s.Leaving())
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if len(ends()) != 1 {
			t.Errorf("a carrier that does not close is not told to: %v", ends())
		}
		s.Close()
		synctest.Wait()
		if len(p.core.gone) != 0 {
			t.Error("the core was told of an end that it knew")
		}
	})
}

// A server that ends while another of its carriers begins does not crash, and lets nobody in any more.
func TestACarrierBeginsAtAHallThatIsShut(t *testing.T) {
	h := carry.NewBuilding(carry.Config{}).Hall("duplex")
	carry.Join(datagram.NewSilent(netip.AddrPort{}, netip.AddrPort{}), h).Close()
	carry.Join(datagram.NewSilent(netip.AddrPort{}, netip.AddrPort{}), h).Close()
	if _, err := h.Open(carry.Opening{Source: browser, Kind: way.WebSocket, Ready: func() {}}); !errors.Is(err, carry.ErrClosed) {
		t.Errorf("a session at a hall that is shut: %v", err)
	}
}

// One session that floods gets no more turns than the others.
func TestSessionsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, 0, carry.Config{})
		release := make(chan struct{})
		p.loop.Post(func() { <-release })
		synctest.Wait()
		var first *carry.Session
		for i := range 20 {
			s, _ := p.open(t, way.WebSocket)
			if i == 0 {
				first = s
			}
			for range 500 {
				s.Deliver([]byte("flood"))
			}
		}
		last, _ := p.open(t, way.WebSocket)
		last.Deliver([]byte("hello"))
		close(release)
		synctest.Wait()
		before := 0
		for _, from := range p.core.seen {
			if from == last.Addr() {
				break
			}
			if from == first.Addr() {
				before++
			}
		}
		if before > 24 || len(p.core.seen) != 20*500+1 {
			t.Errorf("%d of a flood of %d came before the one of another", before, len(p.core.seen))
		}
	})
}

// An address may open so many sessions a second, and so many at once; the banned none.
func TestSessionsOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, 0, carry.Config{OfHost: 100, Banned: func(_ time.Time, a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.66") }})
		open := func(addr string) error {
			_, err := p.hall.Open(carry.Opening{Source: netip.MustParseAddrPort(addr), Kind: way.WebSocket, Ready: func() {}})
			return err
		}
		n, err := 0, error(nil)
		for ; err == nil; n++ {
			err = open("192.0.2.1:1")
		}
		if n != 101 || !errors.Is(err, carry.ErrCrowded) {
			t.Errorf("number %d was refused: %v", n, err)
		}
		for range 300 {
			err = open("192.0.2.1:1")
		}
		if !errors.Is(err, carry.ErrHasty) {
			t.Errorf("the 400th in a second: %v", err)
		}
		if err := open("192.0.2.66:1"); !errors.Is(err, carry.ErrBanned) {
			t.Errorf("a banned address: %v", err)
		}
		if err := open("192.0.2.2:1"); err != nil {
			t.Errorf("another address: %v", err)
		}
	})
}

// What goes through a session costs no allocation.
func TestDatagramsOfASessionAllocateNothing(t *testing.T) {
	h := carry.NewBuilding(carry.Config{}).Hall("echo")
	c := carry.Join(datagram.NewSilent(netip.AddrPort{}, netip.AddrPort{}), h)
	defer c.Close()
	s, err := h.Open(carry.Opening{Source: browser, Kind: way.WebSocket, Ready: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	h.Welcome(s.Addr())
	out, b := c.NewSendBatch(), make([]byte, 300)
	buf := make([]byte, 0, 32<<10)
	head := func(b []byte, n int) []byte { return append(b, 0, 0) }
	if n := testing.AllocsPerRun(1000, func() {
		for range 10 {
			out.Append(b, s.Addr())
		}
		c.Write(out)
		buf = s.Batch(buf[:0], 16<<10, head)
	}); n != 0 {
		t.Errorf("%v allocations for ten datagrams", n)
	}
	if len(buf) != 3020 {
		t.Errorf("a batch of %d bytes", len(buf))
	}
	s.Close()
}
