package replica

import (
	"context"
	"iter"
	"net/netip"

	"parley/internal/kit"
	"parley/internal/udp"
)

// dialect is replica's server and client for the conformance kit. All messages are named "kit".
var dialect = kit.Shell{
	Name: "replica", Goodbye: goodbye, MaxBytes: 100_000, ErrServerClosed: ErrServerClosed,
	Serve: func(socket *udp.Socket, o kit.Options, handle func(kit.Conn, kit.Event)) kit.RunningServer {
		return &kitServer{serve(socket, configOf(o), func(c *Conn, ev Event) { handle(kitConn{c}, kitEvent(ev)) })}
	},
	Dial: func(ctx context.Context, socket *udp.Socket, o kit.Options) (kit.RunningClient, error) {
		x, err := dial(ctx, socket, configOf(o))
		return kitClient{x}, err
	},
	Listen: func(addr string) (kit.RunningServer, error) {
		s, err := Listen(addr, Config{Timeout: kit.Unhurried}, nil)
		return &kitServer{s}, err
	},
	DialName: func(ctx context.Context, addr string) (kit.RunningClient, error) {
		x, err := Dial(ctx, addr, Config{Timeout: kit.Unhurried})
		return kitClient{x}, err
	},
}

func configOf(o kit.Options) Config {
	c := Config{Timeout: o.Timeout, Linger: o.Linger, MaxConns: o.MaxConns, Log: o.Log}
	if o.Refuse != "" {
		c.Admit = func(netip.AddrPort) (string, bool) { return o.Refuse, false }
	}
	return c
}

type kitServer struct{ *Server }

func (s *kitServer) Idle() bool { return s.mux.Idle() }
func (s *kitServer) Break()     { s.shell.Carrier().Close() }

func (s *kitServer) Counts() kit.Counts {
	st := s.Stats()
	return kit.Counts{Conns: int(st.Conns), Opened: st.Opened, Ended: st.Ended, Malformed: st.Malformed,
		OutFaults: st.Socket.OutFaults.Total(), InData: st.Socket.InDatagrams}
}

type kitConn struct{ *Conn }

func (c kitConn) Send(mode kit.Mode, data []byte) error { return c.Conn.Send(Mode(mode), "kit", data) }

type kitClient struct{ *Client }

func (x kitClient) Send(mode kit.Mode, data []byte) error {
	return x.Client.Send(Mode(mode), "kit", data)
}
func (x kitClient) Time() uint64             { return x.ServerTime() }
func (x kitClient) Queued() (int, int64)     { return x.shell.Queued() }
func (x kitClient) Over() <-chan struct{}    { return x.shell.Over() }
func (x kitClient) Stopped() <-chan struct{} { return x.shell.Loop().Done() }
func (x kitClient) Break()                   { x.shell.Loop().Carrier().Close() }

func (x kitClient) All() iter.Seq[kit.Event] {
	return func(yield func(kit.Event) bool) {
		for ev := range x.Events() {
			if !yield(kitEvent(ev)) {
				return
			}
		}
	}
}

func kitEvent(ev Event) kit.Event {
	k := kit.Event{Bytes: ev.Data, Time: ev.Time}
	switch ev.Kind {
	case EventConnected:
		k.Kind = kit.Connected
	case EventMessage:
		k.Kind = kit.Data
	case EventClosed:
		k.Kind, k.Reason, k.Remote, k.Text = kit.Ended, ev.Close.Reason.String(), ev.Close.Remote, ev.Close.Text
	}
	switch {
	case ev.Ordered:
		k.Mode = kit.Ordered
	case ev.Reliable:
		k.Mode = kit.Reliable
	}
	return k
}
