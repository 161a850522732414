package stamp

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/netip"
	"testing"

	"parley/internal/kit"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/protocol/stamp/core"
)

// place is where the sockets of a test are.
type place struct{ shelltest.Place }

func memory() *place { return &place{shelltest.Memory()} }

// eachPlace runs a test at every kind of socket.
func eachPlace(t *testing.T, test func(t *testing.T, at *place)) {
	shelltest.EachPlace(t, func(t *testing.T, at shelltest.Place) { test(t, &place{at}) })
}

func (p *place) config(c Config) Config {
	if p.Network == nil && c.Timeout == 0 {
		c.Timeout = kit.Unhurried
	}
	return c
}

func (p *place) serve(t testing.TB, c Config, handle func(*Conn, Event)) *Server {
	t.Helper()
	s := serve(p.Listen(t), p.config(c), handle)
	t.Cleanup(func() { s.Close() })
	return s
}

func (p *place) tryDial(ctx context.Context, t testing.TB, to netip.AddrPort, c Config) (*Client, error) {
	t.Helper()
	return dial(ctx, p.Dial(t, to), p.config(c))
}

func (p *place) connect(t testing.TB, s *Server, c Config) *Client {
	t.Helper()
	x, err := p.tryDial(t.Context(), t, s.Addr(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close(shelltest.Ended()) })
	return x
}

// wantEntity waits for one entity packet.
func wantEntity(t testing.TB, x *Client, mode Mode, data []byte) {
	t.Helper()
	for ev := range x.Events() {
		if ev.Kind != EventEntity || !bytes.Equal(ev.Data, data) || ev.Reliable != (mode != Unreliable) || ev.Ordered != (mode == Ordered) {
			t.Fatalf("got %v of %d bytes, reliable %v, ordered %v (%+v); want %d bytes, %v",
				ev.Kind, len(ev.Data), ev.Reliable, ev.Ordered, ev.Close, len(data), mode)
		}
		return
	}
}

// ends reads what is left and returns how the connection ended.
func ends(x *Client) Close {
	var last Event
	for ev := range x.Events() {
		last = ev
	}
	return last.Close
}

// waitFor has the server's loop run until cond holds.
func waitFor(t testing.TB, s *Server, cond func() bool) {
	t.Helper()
	for !cond() {
		if err := s.Do(func() {}); err != nil {
			t.Fatal(err)
		}
	}
}

// flood fills the way to a client: it sends numbered packets whenever there is room, and
// counts those that were taken.
type flood struct {
	conn *Conn
	sent uint32
}

func (f *flood) fill(mode Mode, size int) {
	for data := make([]byte, size); ; f.sent++ {
		binary.LittleEndian.PutUint32(data, f.sent)
		if err := f.conn.Send(mode, data); err != nil {
			return
		}
	}
}

// T61: connect, send in every mode and size, close; at every kind of socket.
func TestConnectSendClose(t *testing.T) {
	promise.Keeps(t, "T61", "stamp", 1)
	eachPlace(t, func(t *testing.T, at *place) {
		closed, acked := make(chan Close, 1), make(chan uint32, 1)
		var conn *Conn
		s := at.serve(t, Config{}, func(c *Conn, ev Event) {
			switch ev.Kind {
			case EventConnected:
				conn = c
			case EventAcked:
				acked <- ev.Tag
			case EventClosed:
				closed <- ev.Close
			}
		})
		x := at.connect(t, s, Config{})
		waitFor(t, s, func() bool { return s.Stats().Conns == 1 })
		full := make([]byte, MaxData)
		for i := range full {
			full[i] = byte(i * 31 >> 4)
		}
		for _, mode := range []Mode{Unreliable, Reliable, Ordered} {
			for _, data := range [][]byte{[]byte("x"), []byte(mode.String()), full} {
				err := ErrWindowFull
				for err == ErrWindowFull { // until a client that the machine kept silent for 3 s is heard again
					s.Do(func() { err = conn.Send(mode, data) })
				}
				if err != nil {
					t.Fatalf("send: %v", err)
				}
				wantEntity(t, x, mode, data)
			}
		}
		s.Do(func() {
			if err := conn.SendReport(full, 77); err != nil {
				t.Error(err)
			}
		})
		wantEntity(t, x, Reliable, full)
		if tag := patient.Value(acked); tag != 77 {
			t.Errorf("the packet with tag %d was acknowledged", tag)
		}
		if got := s.Stats(); got.Conns != 1 || got.Mux.Opened != 1 || got.Socket.InDatagrams == 0 || got.Mux.Check() != nil {
			t.Errorf("the server counts %+v", got)
		}
		if err := x.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		if got, want := ends(x), (Close{Reason: core.ReasonClosed}); got != want {
			t.Errorf("the client ended with %+v, want %+v", got, want)
		}
		if got, want := patient.Value(closed), (Close{Reason: core.ReasonPeer, Remote: true}); got != want {
			t.Errorf("the server was told %+v, want %+v", got, want)
		}
	})
}
