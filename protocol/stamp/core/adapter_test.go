package core

import (
	"errors"
	"net/netip"
	"time"

	"parley/internal/kit"
)

// dialect is stamp for the conformance kit.
var dialect = kit.Dialect{
	Name: "stamp",
	Mute: true,
	Server: func(now time.Time, seed uint64) kit.Server {
		return &serverCore{Mux: NewMux(now, Config{}, newShared(seed), kit.Key(seed))}
	},
	Client: func(now time.Time, seed uint64) kit.Client {
		return clientCore{NewClient(now, serverAddr, Config{}, newShared(seed))}
	},
	Ack: func(b []byte) bool {
		var p Packet
		return p.Parse(FromServer, b) && p.Kind == KindAck
	},
}

type serverCore struct {
	*Mux
	wrong error // counters of a connection that is over did not add up
}

func (s *serverCore) Next() (kit.Event, bool) {
	c, ev, ok := s.PollEvent()
	if !ok {
		return kit.Event{}, false
	}
	if st := c.Stats(); ev.Kind == EventClosed && s.wrong == nil {
		s.wrong = st.Check()
	}
	k := kitEvent(ev)
	k.Peer, k.Conn = c.Peer(), c
	return k, true
}

func (s *serverCore) Send(to netip.AddrPort, mode kit.Mode, data []byte) error {
	if c := s.Conn(to); c != nil {
		return c.Send(Mode(mode), data)
	}
	return ErrClosed
}

func (s *serverCore) End(who netip.AddrPort) {
	if c := s.Conn(who); c != nil {
		c.Close("go")
	}
}

func (s *serverCore) Opened() uint64    { return s.Stats().Opened }
func (s *serverCore) Malformed() uint64 { return s.Stats().Malformed }

func (s *serverCore) Check() error {
	stats := s.Stats()
	errs := []error{s.wrong, stats.Check()}
	if stats.Opened != stats.Ended+uint64(s.Len()) {
		errs = append(errs, errors.New("opened, ended and present do not add up"))
	}
	for c := range s.Conns() {
		stats := c.Stats()
		errs = append(errs, stats.Check(), c.endpoint.sender.Check())
	}
	return errors.Join(errs...)
}

type clientCore struct{ *Endpoint }

func (c clientCore) Open() bool { return c.State() == StateOpen }

func (c clientCore) Next() (kit.Event, bool) {
	ev, ok := c.PollEvent()
	return kitEvent(ev), ok
}

func (c clientCore) Send(time.Time, kit.Mode, []byte) error { return kit.ErrMute }

func (c clientCore) End(now time.Time) { c.Close(now, "") }

func (c clientCore) Check() error {
	stats := c.Stats()
	return errors.Join(stats.Check(), c.receiver.Check())
}

func kitEvent(ev Event) kit.Event {
	k := kit.Event{Bytes: ev.Data}
	switch ev.Kind {
	case EventConnected:
		k.Kind = kit.Connected
	case EventEntity:
		k.Kind = kit.Data
	case EventEntered:
		k.Kind = kit.Entered
	case EventSkipped:
		k.Kind = kit.Skipped
	case EventClosed:
		k.Kind, k.Reason, k.Remote = kit.Ended, ev.Close.Reason.String(), ev.Close.Remote
	}
	switch {
	case ev.Ordered:
		k.Mode = kit.Ordered
	case ev.Reliable:
		k.Mode = kit.Reliable
	}
	return k
}
