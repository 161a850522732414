package simnet

import (
	"encoding/binary"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func addr(port int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), uint16(port))
}

// arrived is one datagram as a toy saw it.
type arrived struct {
	at   time.Time
	from netip.AddrPort
	text string
}

// toy is a node that does what its fields say and writes down what it is given.
type toy struct {
	got      []arrived
	outbox   []outgoing
	timeouts []time.Time
	next     time.Time // zero is none
	every    time.Duration
	onData   func(now time.Time, from netip.AddrPort, b []byte)
	onTime   func(now time.Time)
}

type outgoing struct {
	to netip.AddrPort
	b  []byte
}

func (y *toy) send(to netip.AddrPort, text string) {
	y.outbox = append(y.outbox, outgoing{to, []byte(text)})
}

func (y *toy) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	y.got = append(y.got, arrived{now, from, string(b)})
	if y.onData != nil {
		y.onData(now, from, b)
	}
}

func (y *toy) HandleTimeout(now time.Time) {
	y.timeouts = append(y.timeouts, now)
	if y.every > 0 {
		y.next = y.next.Add(y.every)
	} else {
		y.next = time.Time{}
	}
	if y.onTime != nil {
		y.onTime(now)
	}
}

func (y *toy) NextTimeout() (time.Time, bool) { return y.next, !y.next.IsZero() }

func (y *toy) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if len(y.outbox) == 0 {
		return 0, netip.AddrPort{}, false
	}
	o := y.outbox[0]
	y.outbox = y.outbox[1:]
	return copy(buf, o.b), o.to, true
}

// texts is what a toy was given, without the times.
func (y *toy) texts() []string {
	var list []string
	for _, a := range y.got {
		list = append(list, a.text)
	}
	return list
}

// pair is two toys with a link each way.
type pair struct {
	*Network
	t      *testing.T
	a, b   *toy
	ha, hb *Host
	ab, ba *Link
}

func newPair(t *testing.T, seed uint64, p Profile) *pair {
	t.Helper()
	n := New(seed)
	x := &pair{Network: n, t: t, a: new(toy), b: new(toy)}
	x.ha, x.hb = n.Add(addr(1), x.a).Named("a"), n.Add(addr(2), x.b).Named("b")
	x.ab, x.ba = n.NewLink(p), n.NewLink(p)
	n.Route(x.ha, x.hb, x.ab)
	n.Route(x.hb, x.ha, x.ba)
	t.Cleanup(func() {
		for _, s := range []Stats{n.Stats(), x.ab.Stats(), x.ba.Stats()} {
			if err := s.Balance(); err != nil {
				t.Errorf("seed=%d: %v", seed, err)
			}
		}
	})
	return x
}

// sendAt has a send a text to b at a time.
func (x *pair) sendAt(d time.Duration, text string) {
	x.At(epoch.Add(d), "send "+text, func() {
		x.a.send(x.hb.Addr(), text)
		x.ha.Poke()
	})
}

func (x *pair) run(d time.Duration) {
	x.t.Helper()
	if err := x.Run(d); err != nil {
		x.t.Fatalf("seed=%d: %v", x.Seed(), err)
	}
}

// stream is a node that sends numbered datagrams of a size at an interval, without allocating.
type stream struct {
	to       netip.AddrPort
	size     int
	every    time.Duration
	next     time.Time
	due      int
	count    uint64
	left     int
	received uint64
}

func (s *stream) HandleDatagram(time.Time, netip.AddrPort, []byte) { s.received++ }

func (s *stream) HandleTimeout(time.Time) {
	s.due++
	s.left--
	s.next = s.next.Add(s.every)
}

func (s *stream) NextTimeout() (time.Time, bool) { return s.next, s.left > 0 }

func (s *stream) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if s.due == 0 {
		return 0, netip.AddrPort{}, false
	}
	s.due--
	s.count++
	binary.LittleEndian.PutUint64(buf, s.count)
	return s.size, s.to, true
}
