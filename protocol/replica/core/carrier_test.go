package core

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/way"
)

// measured is a client that knows the largest datagram that it got.
type measured struct {
	*Endpoint
	most *int
}

func (m measured) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	*m.most = max(*m.most, len(b))
	m.Endpoint.HandleDatagram(now, from, b)
}

// "over WebTransport a core keeps its packets within 1,100, both ways; over WebSocket within 1,200 as over UDP" (carriers): tables, values that
// clients share and values of their own, what is gone, long messages, and messages that leave together.
func TestDatagramsOverWebTransportAreSmaller(t *testing.T) {
	w := newWorld(t, 1, Config{}, kit.Lan())
	s := w.mux.Store()
	kinds := make([]uint16, 60)
	for i := range kinds {
		var err error
		if kinds[i], err = s.AddKind(fmt.Sprintf("a kind with a long name %d", i), Variable{"first", DataUint64}, Variable{"second", DataUint64}); err != nil {
			t.Fatal(err)
		}
	}
	carriers := []way.Kind{way.UDP, way.WebSocket, way.WebTransport}
	most := make([]int, len(carriers))
	var conns []*Conn
	for i, kind := range carriers {
		addr := clientAddr
		if kind != way.UDP {
			addr = way.SessionAddr(kind, uint64(i))
		}
		x := NewClient(w.Now(), serverAddr, Config{}, newShared(uint64(i)))
		host := w.Add(addr, measured{x, &most[i]})
		host.AfterTurn(func(now time.Time) {
			for ev, ok := x.PollEvent(); ok; ev, ok = x.PollEvent() {
				if ev.Kind == EventConnected {
					if err := x.Link(now); err != nil {
						t.Error(err)
					}
				}
			}
		})
		w.Until("linked", time.Minute, func() bool {
			c := w.mux.Conn(addr)
			return c != nil && c.endpoint.link != nil && c.endpoint.link.all(len(s.items))
		})
		conns = append(conns, w.mux.Conn(addr))
	}
	var entities []*Entity
	for i := range 700 {
		e, err := s.NewEntity(kinds[i%len(kinds)])
		if err != nil {
			t.Fatal(err)
		}
		entities = append(entities, e)
	}
	tick := func(n int) {
		for i, e := range entities {
			if err := e.Set(i%2, []byte{byte(n), 1, 2, 3, 4, 5, 6, 7}); err != nil {
				t.Fatal(err)
			}
		}
		w.replicate(100_000)
		w.Pass(100 * time.Millisecond)
	}
	for _, c := range conns {
		for _, e := range entities {
			if err := c.Show(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range 10 {
		tick(n)
	}
	for _, c := range conns {
		for _, e := range entities[:500] {
			c.Hide(e)
		}
		for range 3 {
			if err := c.Send(Ordered, "long", make([]byte, 5000)); err != nil {
				t.Fatal(err)
			}
			if err := c.Send(Reliable, "some", make([]byte, 500)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n := range 10 {
		tick(n)
	}
	for i, want := range []int{1200, 1200, 1100} {
		if most[i] > want || most[i] < want-30 {
			t.Errorf("over %v the largest datagram has %d bytes, want nearly %d", carriers[i], most[i], want)
		}
	}
	for i, want := range []error{nil, nil, ErrMessageSize} {
		if err := conns[i].Send(Reliable, "m", make([]byte, 1150)); !errors.Is(err, want) {
			t.Errorf("over %v a message of 1,150 bytes that cannot be split: %v, want %v", carriers[i], err, want)
		}
	}
	if got := NewClient(w.Now(), conns[2].Peer(), Config{}, newShared(9)).most(); got != 1100 {
		t.Errorf("a client over WebTransport sends packets of %d bytes", got)
	}
}
