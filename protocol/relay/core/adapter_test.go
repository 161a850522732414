package core

import (
	"errors"
	"net/netip"
	"time"

	"parley/internal/kit"
)

// dialect is relay for the conformance kit: an open room.
var dialect = kit.Dialect{
	Name: "relay",
	Server: func(now time.Time, seed uint64) kit.Server {
		return serverCore{NewMux(now, Config{}, newShared(seed), kit.Key(seed), nil)}
	},
	Client: func(now time.Time, seed uint64) kit.Client {
		e, err := NewClient(now, kit.ServerAddr, Config{}, newShared(seed))
		if err != nil {
			panic(err)
		}
		return clientCore{e}
	},
}

type serverCore struct{ *Mux }

func (s serverCore) Idle() bool { return s.first.peers.Idle() && s.first.direct.Len() == 0 }

func (s serverCore) Next() (kit.Event, bool) {
	p, ev, ok := s.PollEvent()
	if !ok {
		return kit.Event{}, false
	}
	k := kitEvent(ev)
	k.Peer = p.Addr()
	return k, true
}

func (s serverCore) Send(to netip.AddrPort, mode kit.Mode, data []byte) error {
	if p := s.First().Peer(to); p != nil {
		return p.Send(Mode(mode), data)
	}
	return ErrClosed
}

func (s serverCore) End(who netip.AddrPort) {
	if p := s.First().Peer(who); p != nil {
		p.Close("go")
	}
}

func (s serverCore) Opened() uint64    { return s.Stats().Admitted }
func (s serverCore) Malformed() uint64 { return s.Stats().Malformed }

func (s serverCore) Check() error {
	stats, traffic := s.Stats(), s.Traffic()
	errs := []error{stats.Check(), traffic.Check()}
	if stats.Admitted != stats.Gone+uint64(s.Len()) {
		errs = append(errs, errors.New("admitted, gone and present do not add up"))
	}
	return errors.Join(errs...)
}

type clientCore struct{ *Endpoint }

func (c clientCore) Open() bool { return c.State() == StateOpen }

func (c clientCore) Next() (kit.Event, bool) {
	ev, ok := c.PollEvent()
	return kitEvent(ev), ok
}

func (c clientCore) Send(now time.Time, mode kit.Mode, data []byte) error {
	return c.Endpoint.Send(now, Mode(mode), ToServer, data)
}

func (c clientCore) End(now time.Time) { c.Close(now, "") }

func (c clientCore) Check() error {
	stats := c.Stats()
	return stats.Check()
}

func kitEvent(ev Event) kit.Event {
	switch ev.Kind {
	case EventJoined:
		return kit.Event{Kind: kit.Connected}
	case EventPackage:
		return kit.Event{Kind: kit.Data, Mode: kit.Mode(ev.Package.Mode), Bytes: ev.Package.Payload}
	case EventLeft:
		return kit.Event{Kind: kit.Ended, Reason: ev.Close.Reason.String()}
	}
	return kit.Event{}
}
