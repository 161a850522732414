package core

import (
	"net/netip"
	"testing"
	"time"

	"parley/internal/admission"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
)

// town is a server core with clients, joined without a network.
type town struct {
	now     time.Time
	mux     *Mux
	shared  *Shared // of the clients
	clients []*Endpoint
	addrs   []netip.AddrPort
	buf     [2048]byte
}

func newTown(clients int) *town {
	w := &town{now: time.Unix(1_900_000_000, 0), shared: newShared(2), clients: make([]*Endpoint, clients)}
	w.mux = NewMux(w.now, Config{}, newShared(1), admission.Key{1})
	for i := range clients {
		w.addrs = append(w.addrs, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 7000))
	}
	return w
}

// pass lets time pass and moves every packet there is, to the end.
func (w *town) pass(d time.Duration) {
	w.now = w.now.Add(d)
	w.mux.HandleTimeout(w.now)
	for _, c := range w.clients {
		c.HandleTimeout(w.now)
	}
	for moved := true; moved; {
		moved = false
		for i, c := range w.clients {
			for _, ok := c.PollEvent(); ok; _, ok = c.PollEvent() {
			}
			for n, _, ok := c.PollTransmit(w.buf[:]); ok; n, _, ok = c.PollTransmit(w.buf[:]) {
				w.mux.HandleDatagram(w.now, w.addrs[i], w.buf[:n])
				moved = true
			}
		}
		for _, _, ok := w.mux.PollEvent(); ok; _, _, ok = w.mux.PollEvent() {
		}
		for n, to, ok := w.mux.PollTransmit(w.buf[:]); ok; n, to, ok = w.mux.PollTransmit(w.buf[:]) {
			w.clients[to.Addr().As4()[3]].HandleDatagram(w.now, serverAddr, w.buf[:n])
			moved = true
		}
	}
}

// T58: connections that come and go leave nothing behind in the core, a million of them in the
// gate. Half are ended by the server, and half by their clients, whom it doubts for a second.
func TestChurnInTheCore(t *testing.T) {
	w := newTown(8)
	cycle := func() {
		for i := range w.clients {
			w.clients[i] = NewClient(w.now, serverAddr, Config{}, w.shared)
		}
		for range 2 {
			w.pass(time.Millisecond)
		}
		if w.mux.Len() != len(w.clients) {
			t.Fatalf("%d of %d are connected", w.mux.Len(), len(w.clients))
		}
		for i, c := range w.clients {
			if i%2 == 0 {
				w.mux.Conn(w.addrs[i]).Close("go")
			} else {
				c.Close(w.now, "")
			}
		}
		for range 4 {
			w.pass(400 * time.Millisecond)
		}
		if !w.mux.conns.Idle() {
			t.Fatalf("something of those who left is held; %d connections are left", w.mux.Len())
		}
	}
	for range 100 {
		cycle()
	}
	before, cycles := shelltest.LiveObjects(), promise.Keeps(t, "T58", "replica", tier(2_500, 125_000, 125_000))
	for range cycles {
		cycle()
	}
	// Tables of addresses grow by some 70 objects at one time or another; a leak would be one of a connection at least.
	if after := shelltest.LiveObjects(); after > before+before/100+200 {
		t.Errorf("%d objects after %d more connections, %d before", after, 8*cycles, before)
	}
	if s := w.mux.Stats(); s.Opened != s.Ended || s.Opened != uint64(8*(cycles+100)) {
		t.Errorf("%d opened, %d ended", s.Opened, s.Ended)
	}
}
