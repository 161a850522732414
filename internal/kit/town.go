package kit

import (
	"net/netip"
	"testing"
	"time"
)

// Town is a server core with clients, joined without a network: what one sends, the other gets at once.
type Town struct {
	T       testing.TB
	Now     time.Time
	Dialect Dialect
	Server  Server
	Clients []Client
	Addrs   []netip.AddrPort
	Got     int // bytes of data at the clients
	Hear    func(server bool, ev Event)
	buf     [2048]byte
}

// NewTown returns a server and clients that have not begun.
func NewTown(t testing.TB, d Dialect, clients int) *Town {
	w := &Town{T: t, Now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), Dialect: d, Clients: make([]Client, clients)}
	w.Server = d.Server(w.Now, 1)
	for i := range clients {
		w.Addrs = append(w.Addrs, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, byte(i >> 8), byte(i)}), 4000))
	}
	return w
}

// Connect has all clients begin anew, and fails the test if they are not all connected after some turns.
func (w *Town) Connect() {
	w.T.Helper()
	for i := range w.Clients {
		w.Clients[i] = w.Dialect.Client(w.Now, uint64(i)+100)
	}
	for range 3 {
		w.Turn(time.Millisecond)
	}
	if w.Server.Len() != len(w.Clients) {
		w.T.Fatalf("%d of %d are connected", w.Server.Len(), len(w.Clients))
	}
}

// Turn lets time pass and moves every packet there is, to the end.
func (w *Town) Turn(d time.Duration) {
	w.Now = w.Now.Add(d)
	w.Server.HandleTimeout(w.Now)
	for _, c := range w.Clients {
		c.HandleTimeout(w.Now)
	}
	for moved := true; moved; {
		moved = false
		for i, c := range w.Clients {
			for n, _, ok := c.PollTransmit(w.buf[:]); ok; n, _, ok = c.PollTransmit(w.buf[:]) {
				w.Server.HandleDatagram(w.Now, w.Addrs[i], w.buf[:n])
				moved = true
			}
		}
		for ev, ok := w.Server.Next(); ok; ev, ok = w.Server.Next() {
			if w.Hear != nil {
				w.Hear(true, ev)
			}
		}
		for n, to, ok := w.Server.PollTransmit(w.buf[:]); ok; n, to, ok = w.Server.PollTransmit(w.buf[:]) {
			a := to.Addr().As4()
			c := w.Clients[int(a[2])<<8|int(a[3])]
			c.HandleDatagram(w.Now, ServerAddr, w.buf[:n])
			for ev, ok := c.Next(); ok; ev, ok = c.Next() {
				w.Got += len(ev.Bytes)
				if w.Hear != nil {
					w.Hear(false, ev)
				}
			}
			moved = true
		}
	}
}
