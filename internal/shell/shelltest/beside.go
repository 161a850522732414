package shelltest

import (
	"bytes"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/datagram"
	"parley/internal/patient"
)

// maxSessionDatagram is the largest datagram of a session, and maxSessionQueue how many wait for its client.
const (
	maxSessionDatagram = 1200
	maxSessionQueue    = 1024
)

// sessionPrefix is where the addresses of sessions are.
var sessionPrefix = netip.MustParsePrefix("fd70:6172:6c65:7900::/64")

// Beside lets a dialect play over a carrier that is no socket: a server gets the datagrams of a socket and of two
// sessions, and has three clients, the first at the socket. play connects all and lets them talk. It gets its time
// from a synctest bubble.
func Beside(t *testing.T, play func(t *testing.T, server datagram.Carrier, clients []datagram.Carrier)) {
	patient.Test(t)
	synctest.Test(t, func(t *testing.T) {
		at := Memory()
		socket := at.Listen(t)
		s := &beside{Carrier: socket, rest: socket.NewSendBatch(), in: datagram.NewSessionBatch(4, maxSessionDatagram)}
		clients := []datagram.Carrier{at.Dial(t, socket.LocalAddr()), s.session(), s.session()}
		play(t, s, clients)
		for i, c := range clients {
			if st := c.Stats(); st.InDatagrams == 0 || st.OutDatagrams == 0 {
				t.Errorf("client %d at %v: %d datagrams in, %d out", i, c.LocalAddr(), st.InDatagrams, st.OutDatagrams)
			}
		}
		if st, first := socket.Stats(), clients[0].Stats(); st.InDatagrams != first.OutDatagrams || st.OutLost != 0 {
			t.Errorf("the socket got %d datagrams and lost %d, its client sent %d", st.InDatagrams, st.OutLost, first.OutDatagrams)
		}
	})
}

// beside is the carrier of a server: a socket, and sessions in memory.
type beside struct {
	datagram.Carrier // the socket
	in               datagram.RecvBatch
	rest             *datagram.SendBatch // what is for the socket

	mu       sync.Mutex
	sessions []*session
	waiting  []parcel // from the sessions
}

// parcel is a datagram between a session and its server.
type parcel struct {
	from netip.AddrPort
	data []byte
}

// session opens a session and returns its client's carrier.
func (b *beside) session() *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	ip := sessionPrefix.Addr().As16()
	ip[15] = byte(len(b.sessions) + 1)
	x := &session{
		server: b, local: netip.AddrPortFrom(netip.AddrFrom16(ip), 1),
		queue: make(chan []byte, maxSessionQueue), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	b.sessions = append(b.sessions, x)
	return x
}

// Serve takes a turn for what the sessions brought before each turn of the socket.
func (b *beside) Serve(turn datagram.Turn) error {
	return b.Carrier.Serve(func(in *datagram.RecvBatch, woken bool) (datagram.Next, time.Time) {
		for b.fill() {
			if what, until := turn(&b.in, false); what == datagram.Stop {
				return what, until
			}
		}
		return turn(in, woken)
	})
}

// fill puts what the sessions brought into the batch, and reports whether there was anything.
func (b *beside) fill() bool {
	b.in.Clear()
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(b.in.Cap(), len(b.waiting))
	for _, p := range b.waiting[:n] {
		b.in.Add(p.from, p.data, 0)
	}
	b.waiting = b.waiting[n:]
	return n > 0
}

func (b *beside) Write(out *datagram.SendBatch) error {
	b.deliver(out)
	return b.Carrier.Write(b.rest)
}

func (b *beside) WriteInTurn(out *datagram.SendBatch) error {
	b.deliver(out)
	return b.Carrier.WriteInTurn(b.rest)
}

// deliver gives the sessions what is for them, and leaves the rest for the socket.
func (b *beside) deliver(out *datagram.SendBatch) {
	for i := range out.Entries() {
		e := &out.Entries()[i]
		if !sessionPrefix.Contains(e.To.Addr()) {
			b.rest.Append(out.Payload(e), e.To)
			continue
		}
		for _, x := range b.sessions {
			if x.local == e.To {
				x.queue <- bytes.Clone(out.Payload(e))
			}
		}
	}
	out.Reset()
}

// session is the carrier of a client: a queue of datagrams from its server.
type session struct {
	server *beside
	local  netip.AddrPort
	queue  chan []byte
	wake   chan struct{} // capacity 1
	done   chan struct{}
	close  sync.Once
	mu     sync.Mutex
	stats  datagram.Stats
}

func (x *session) LocalAddr() netip.AddrPort  { return x.local }
func (x *session) RemoteAddr() netip.AddrPort { return x.server.LocalAddr() }
func (x *session) NewSendBatch() *datagram.SendBatch {
	return datagram.NewSendBatch(4, maxSessionDatagram)
}

func (x *session) Serve(turn datagram.Turn) error {
	in := datagram.NewSessionBatch(1, maxSessionDatagram)
	for woken := false; ; {
		what, until := turn(&in, woken)
		in.Clear()
		woken = false
		var due <-chan time.Time
		switch {
		case what == datagram.Stop:
			return nil
		case what == datagram.Again:
			until = time.Now()
			fallthrough
		case !until.IsZero():
			due = time.After(time.Until(until))
		}
		select {
		case data := <-x.queue:
			in.Add(x.RemoteAddr(), data, 0)
			x.count(func(s *datagram.Stats) { s.InDatagrams++ })
		case <-x.wake:
			woken = true
		case <-due:
		case <-x.done:
			return datagram.ErrClosed
		}
	}
}

func (x *session) Write(out *datagram.SendBatch) error {
	x.server.mu.Lock()
	for i := range out.Entries() {
		x.server.waiting = append(x.server.waiting, parcel{x.local, bytes.Clone(out.Payload(&out.Entries()[i]))})
	}
	x.server.mu.Unlock()
	x.count(func(s *datagram.Stats) { s.OutDatagrams += uint64(out.Len()) })
	out.Reset()
	x.server.Wake()
	return nil
}

func (x *session) WriteInTurn(out *datagram.SendBatch) error { return x.Write(out) }

func (x *session) Wake() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

func (x *session) count(add func(*datagram.Stats)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	add(&x.stats)
}

func (x *session) Stats() datagram.Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.stats
}

func (x *session) Close() error {
	x.close.Do(func() { close(x.done) })
	return nil
}
