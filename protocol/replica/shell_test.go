package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"parley/internal/kit"
	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/internal/udp"
	"parley/protocol/replica/core"
)

// place is where the sockets of a test are.
type place struct{ shelltest.Place }

func kernel(c udp.Config) *place { return &place{shelltest.Kernel(c)} }
func memory() *place             { return &place{shelltest.Memory()} }

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

// echo answers every message in the mode that it came in.
func echo(t testing.TB) func(*Conn, Event) {
	return func(c *Conn, ev Event) {
		if ev.Kind != EventMessage {
			return
		}
		mode := Unreliable
		switch {
		case ev.Ordered:
			mode = Ordered
		case ev.Reliable:
			mode = Reliable
		}
		if err := c.Send(mode, string(ev.Name), ev.Data); err != nil {
			t.Errorf("echo: %v", err)
		}
	}
}

// nextMessageOf waits for one message.
func nextMessageOf(t testing.TB, x *Client) Event {
	t.Helper()
	for ev := range x.Events() {
		if ev.Kind == EventMessage {
			return ev
		}
		t.Fatalf("got %v (%+v), want a message", ev.Kind, ev.Close)
	}
	panic("unreachable: EventClosed is the last event")
}

func wantMessage(t testing.TB, x *Client, name string, data []byte) {
	t.Helper()
	if ev := nextMessageOf(t, x); string(ev.Name) != name || !bytes.Equal(ev.Data, data) {
		t.Fatalf("got %q of %d bytes, want %q of %d", ev.Name, len(ev.Data), name, len(data))
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

// T61: connect, echo in every mode and size, close; at every kind of socket.
func TestConnectEchoClose(t *testing.T) {
	promise.Keeps(t, "T61", "replica", 1)
	eachPlace(t, func(t *testing.T, at *place) {
		closed := make(chan Close, 1)
		answer := echo(t)
		s := at.serve(t, Config{}, func(c *Conn, ev Event) {
			answer(c, ev)
			if ev.Kind == EventClosed {
				closed <- ev.Close
			}
		})
		x := at.connect(t, s, Config{})
		for i, mode := range []Mode{Unreliable, Reliable, Ordered} {
			data := fmt.Appendf(nil, "message %d", i)
			if err := x.Send(mode, "say", data); err != nil {
				t.Fatal(err)
			}
			wantMessage(t, x, "say", data)
		}
		big := make([]byte, 1<<20)
		for i := range big {
			big[i] = byte(i * 31 >> 4)
		}
		if err := x.Send(Ordered, "map", big); err != nil {
			t.Fatal(err)
		}
		wantMessage(t, x, "map", big)
		if got := s.Stats(); got.Conns != 1 || got.Mux.Opened != 1 || got.Socket.InDatagrams == 0 {
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

// talk connects, has 20 messages echoed in their order, and leaves. At real sockets a client whose handshake took
// longer than the 10 s that a clock may be wrong is not known, and connects again, as a player would.
func talk(t testing.TB, at *place, s *Server, i int) (err error) {
	for range 5 {
		var why Close
		if err = talkOnce(t, at, s, i); at.Network != nil || !errors.As(err, &why) || why.Reason != core.ReasonUnknown {
			break
		}
	}
	return err
}

func talkOnce(t testing.TB, at *place, s *Server, i int) error {
	x, err := at.tryDial(t.Context(), t, s.Addr(), Config{})
	if err != nil {
		return err
	}
	defer x.Close(t.Context())
	for k := range 20 {
		if err := x.Send(Ordered, "n", fmt.Appendf(nil, "%d of %d", k, i)); err != nil {
			return err
		}
	}
	k := 0
	for ev := range x.Events() {
		if k == 0 && ev.Kind == EventClosed {
			return fmt.Errorf("client %d was told nothing: %w", i, ev.Close)
		}
		if got, want := string(ev.Data), fmt.Sprintf("%d of %d", k, i); ev.Kind != EventMessage || got != want {
			return fmt.Errorf("client %d got %v %q (%v), want %q", i, ev.Kind, got, ev.Close, want)
		}
		if k++; k == 20 {
			break
		}
	}
	return nil
}
