package core

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// duo is a server's endpoint and a client's, joined by hand: quicker than a network, and
// with every datagram within reach.
type duo struct {
	t      testing.TB
	now    time.Time
	shared *Shared
	s, c   *Endpoint
	buf    [MaxPacket]byte
	toC    [][]byte // on the way to the client
	toS    [][]byte
	events []Event // of the client, with data that is its own
	seen   []Event // of the server
	closed bool    // the client got EventClosed
	ended  bool    // the server did
}

var duoStart = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

const duoClock = 1 << 61

// newDuo returns two endpoints that are connected, 10 ms apart.
func newDuo(t testing.TB, seed uint64, cfg Config) *duo {
	return newDuoOf(t, &Shared{Rand: rand.New(rand.NewPCG(seed, 3))}, cfg)
}

func newDuoOf(t testing.TB, shared *Shared, cfg Config) *duo {
	d := &duo{t: t, now: duoStart, shared: shared}
	d.c = NewClient(d.now, serverAddr, cfg, shared)
	d.poll()
	if len(d.toS) != 1 {
		t.Fatalf("a new client sends %d datagrams", len(d.toS))
	}
	d.toS = nil
	d.now = d.now.Add(10 * time.Millisecond)
	accept := Packet{Kind: KindAccept, Sequence: 1, Time: duoClock}
	born := d.now
	d.c.HandleDatagram(d.now, serverAddr, accept.AppendTo(FromServer, nil))
	d.poll()
	d.toS = nil
	d.now = d.now.Add(5 * time.Millisecond)
	clock := duoClock + uint64(d.now.Sub(born).Microseconds())
	d.s = new(Endpoint)
	d.s.initServer(d.now, clientAddr, cfg.fill(), shared, clock, clock-5000)
	d.turn(5 * time.Millisecond)
	d.turn(5 * time.Millisecond)
	if d.c.State() != StateOpen || d.s.State() != StateOpen {
		t.Fatalf("not connected: %v and %v", d.c.State(), d.s.State())
	}
	d.events, d.seen = nil, nil
	return d
}

// poll takes events and packets of both.
func (d *duo) poll() {
	for d.s != nil {
		ev, ok := d.s.PollEvent()
		if !ok {
			break
		}
		if d.ended {
			d.t.Fatalf("the server got %v after closed", ev.Kind)
		}
		d.ended = ev.Kind == EventClosed
		d.seen = append(d.seen, ev)
	}
	for ev, ok := d.c.PollEvent(); ok; ev, ok = d.c.PollEvent() {
		if d.closed {
			d.t.Fatalf("the client got %v after closed", ev.Kind)
		}
		d.closed = ev.Kind == EventClosed
		ev.Data = bytes.Clone(ev.Data)
		d.events = append(d.events, ev)
	}
	d.toS = d.drain(d.c, d.toS)
	if d.s != nil {
		d.toC = d.drain(d.s, d.toC)
	}
}

func (d *duo) drain(e *Endpoint, into [][]byte) [][]byte {
	for n, _, ok := e.PollTransmit(d.buf[:]); ok; n, _, ok = e.PollTransmit(d.buf[:]) {
		into = append(into, bytes.Clone(d.buf[:n]))
	}
	return into
}

// turn delivers what is under way, lets time pass and does what is due.
func (d *duo) turn(pass time.Duration) {
	d.now = d.now.Add(pass)
	toC, toS := d.toC, d.toS
	d.toC, d.toS = nil, nil
	for _, b := range toC {
		d.c.HandleDatagram(d.now, serverAddr, b)
	}
	for _, b := range toS {
		d.s.HandleDatagram(d.now, clientAddr, b)
	}
	d.wake()
	d.poll()
}

// wake calls what has a timeout due.
func (d *duo) wake() {
	for _, e := range []*Endpoint{d.s, d.c} {
		if at, ok := e.NextTimeout(); ok && !at.After(d.now) {
			e.HandleTimeout(d.now)
		}
	}
}

// toClient and toServer hand a packet over as if it had come.
func (d *duo) toClient(p Packet) {
	d.c.HandleDatagram(d.now, serverAddr, p.AppendTo(FromServer, d.buf[:0]))
}

func (d *duo) toServer(p Packet) {
	d.s.HandleDatagram(d.now, clientAddr, p.AppendTo(FromClient, d.buf[:0]))
}

// time is the connection's clock.
func (d *duo) time() uint64 { return d.s.ServerTime(d.now) }

// check fails the test if the counters of either side do not add up.
func (d *duo) check() {
	d.t.Helper()
	for _, e := range []*Endpoint{d.s, d.c} {
		stats := e.Stats()
		if err := stats.Check(); err != nil {
			d.t.Fatalf("%v: %v", e.side, err)
		}
	}
	if err := d.s.sender.Check(); err != nil {
		d.t.Fatal(err)
	}
	if err := d.c.receiver.Check(); err != nil {
		d.t.Fatal(err)
	}
}
