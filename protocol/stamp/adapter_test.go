package stamp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"time"

	"parley/internal/datagram"
	"parley/internal/kit"
)

// dialect is stamp's server and client for the conformance kit.
var dialect = kit.Shell{
	Name: "stamp", Mute: true, Enters: true, MaxBytes: MaxData, ErrServerClosed: ErrServerClosed, ErrClosed: kit.ErrMute,
	Serve: func(carrier datagram.Carrier, o kit.Options, handle func(kit.Conn, kit.Event)) kit.RunningServer {
		return &kitServer{serve(carrier, configOf(o), func(c *Conn, ev Event) { handle(kitConn{c}, kitEvent(ev)) })}
	},
	Dial: func(ctx context.Context, carrier datagram.Carrier, o kit.Options) (kit.RunningClient, error) {
		return clientOf(dial(ctx, carrier, configOf(o)))
	},
	Listen: func(addr string) (kit.RunningServer, error) {
		s, err := Listen(addr, Config{Timeout: kit.Unhurried}, nil)
		return &kitServer{s}, err
	},
	DialName: func(ctx context.Context, addr string) (kit.RunningClient, error) {
		return clientOf(Dial(ctx, addr, Config{Timeout: kit.Unhurried}))
	},
	Why: func(err error) kit.Event {
		var c Close
		errors.As(err, &c)
		return kitEvent(Event{Kind: EventClosed, Close: c})
	},
}

func configOf(o kit.Options) Config {
	c := Config{Timeout: o.Timeout, Linger: o.Linger, MaxConns: o.MaxConns, Log: o.Log}
	if o.Refuse != "" {
		c.Admit = func(netip.AddrPort) string { return o.Refuse }
	}
	return c
}

type kitServer struct{ *Server }

func (s *kitServer) Idle() bool { return s.mux.Idle() }
func (s *kitServer) Break()     { s.shell.Carrier().Close() }

func (s *kitServer) Counts() kit.Counts {
	st := s.Stats()
	return kit.Counts{Conns: int(st.Conns), Opened: st.Mux.Opened, Ended: st.Mux.Ended, Malformed: st.Mux.Malformed,
		OutFaults: st.Socket.OutFaults.Total(), OutLost: st.Socket.OutLost, InData: st.Socket.InDatagrams, Turns: st.Loop.Turns}
}

func (s *kitServer) Check() error {
	st := s.Stats()
	return st.Mux.Check()
}

type kitConn struct{ *Conn }

func (c kitConn) Send(mode kit.Mode, data []byte) error { return c.Conn.Send(Mode(mode), data) }

type kitClient struct{ *Client }

func clientOf(x *Client, err error) (kit.RunningClient, error) {
	if x == nil {
		return nil, err
	}
	return kitClient{x}, err
}

func (x kitClient) Send(kit.Mode, []byte) error    { return kit.ErrMute }
func (x kitClient) Clock() (uint64, time.Duration) { return x.ServerTime() }
func (x kitClient) Queued() (int, int64)           { return x.shell.Queued() }
func (x kitClient) Over() <-chan struct{}          { return x.shell.Over() }
func (x kitClient) Stopped() <-chan struct{}       { return x.shell.Loop().Done() }
func (x kitClient) Break()                         { x.shell.Loop().Carrier().Close() }

func (x kitClient) Check() error {
	st := x.Stats()
	if st.In == 0 || st.Out == 0 {
		return fmt.Errorf("the counters are %+v", st)
	}
	return st.Check()
}

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
	case EventEntered:
		k.Kind = kit.Entered
	case EventEntity:
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
