package core

import (
	"errors"
	"net/netip"
	"time"

	"parley/internal/kit"
)

// byTurns is the configuration of a test that holds with bundles and without: odd seeds have them.
func byTurns(seed uint64) Config { return Config{NoBundles: seed%2 == 0} }

// dialectByTurns has servers, and clients, with bundles and without.
var dialectByTurns = func() kit.Dialect {
	d := dialect
	d.Server = func(now time.Time, seed uint64) kit.Server {
		return serverCore{NewMux(now, byTurns(seed), newShared(seed), kit.Key(seed))}
	}
	d.Client = func(now time.Time, seed uint64) kit.Client {
		return clientCore{NewClient(now, serverAddr, byTurns(seed), newShared(seed))}
	}
	return d
}()

// dialect is replica for the conformance kit.
var dialect = kit.Dialect{
	Name: "replica",
	Server: func(now time.Time, seed uint64) kit.Server {
		return serverCore{NewMux(now, Config{}, newShared(seed), kit.Key(seed))}
	},
	Client: func(now time.Time, seed uint64) kit.Client {
		return clientCore{NewClient(now, serverAddr, Config{}, newShared(seed))}
	},
	Ack: func(b []byte) bool {
		_, ok := holds(FromServer, b, KindAck)
		return ok
	},
}

type serverCore struct{ *Mux }

func (s serverCore) Next() (kit.Event, bool) {
	c, ev, ok := s.PollEvent()
	if !ok {
		return kit.Event{}, false
	}
	k := kitEvent(ev)
	k.Peer, k.Conn = c.Peer(), c
	return k, true
}

func (s serverCore) Send(to netip.AddrPort, mode kit.Mode, data []byte) error {
	if c := s.Conn(to); c != nil {
		return c.Send(Mode(mode), "kit", data)
	}
	return ErrClosed
}

func (s serverCore) End(who netip.AddrPort) {
	if c := s.Conn(who); c != nil {
		c.Close("go")
	}
}

func (s serverCore) Opened() uint64    { return s.Stats().Opened }
func (s serverCore) Malformed() uint64 { return s.Stats().Malformed }

func (s serverCore) Check() error {
	if st := s.Stats(); st.Opened != st.Ended+uint64(s.Len()) {
		return errors.New("opened, ended and present do not add up")
	}
	if s.half.Expire(s.now); s.half.Len() != 0 {
		return errors.New("a half-open connection is left")
	}
	return nil
}

type clientCore struct{ *Endpoint }

func (c clientCore) Open() bool { return c.State() == StateOpen }

func (c clientCore) Next() (kit.Event, bool) {
	ev, ok := c.PollEvent()
	return kitEvent(ev), ok
}

func (c clientCore) Send(now time.Time, mode kit.Mode, data []byte) error {
	return c.Endpoint.Send(now, Mode(mode), "kit", data)
}

func (c clientCore) End(now time.Time) { c.Close(now, "") }

func (c clientCore) Check() error { return nil }

func kitEvent(ev Event) kit.Event {
	k := kit.Event{Bytes: ev.Data}
	switch ev.Kind {
	case EventConnected:
		k.Kind = kit.Connected
	case EventMessage:
		if string(ev.Name) == "kit" {
			k.Kind = kit.Data
		}
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
