package main

import (
	"errors"
	"net/netip"
	"time"

	"parley/internal/shell"
	"parley/protocol/stamp"
	"parley/protocol/stamp/core"
)

var stampPeers = []Peer{
	stampPeer("stamp down", "unreliable entity packets", false, func(c *stamp.Conn, b []byte) error { return c.Send(stamp.Unreliable, b) }),
	stampPeer("stamp reported down", "entity packets whose acks are told", true, func(c *stamp.Conn, b []byte) error { return c.SendReport(b, 1) }),
}

// stampPeer sends down only: the document gives a client no packet for data.
func stampPeer(name, settings string, acks bool, send func(c *stamp.Conn, b []byte) error) Peer {
	return Peer{
		Name: name, Settings: settings, Ours: true, Crowd: true, Down: true, Acks: acks,
		Listen: func(func(Link, []byte)) (Server, error) {
			s := &stampServer{send: send}
			var err error
			s.Server, err = stamp.Listen(loopback, stamp.Config{MaxConns: serverMost}, s.handle)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
		Join: joinStamp,
	}
}

// stampServer keeps its clients in a list, so that some of them can be sent to.
type stampServer struct {
	*stamp.Server
	send  func(c *stamp.Conn, b []byte) error
	conns []*stamp.Conn // owned by the loop
}

func (s *stampServer) handle(c *stamp.Conn, ev stamp.Event) {
	if ev.Kind == stamp.EventConnected {
		s.conns = append(s.conns, c)
	}
}

func (s *stampServer) Push(b []byte, turn, of int) (n int, err error) {
	gone := s.Do(func() {
		for i := turn; i < len(s.conns); i += of {
			if e := s.send(s.conns[i], b); e != nil {
				err = e
				continue
			}
			n++
		}
	})
	return n, errors.Join(gone, err)
}

// stampShared is what the light clients of a process share.
var stampShared = &core.Shared{Rand: shell.Rand()}

func joinStamp(now time.Time, addr netip.AddrPort) (Member, error) {
	e := core.NewClient(now, addr, stamp.Config{}, stampShared)
	return newDatagramMember(addr, endpoint{
		core:  e,
		ready: func() bool { return e.State() == core.StateOpen },
		send:  func(time.Time, []byte) error { return core.ErrClient },
		poll: func(take func([]byte)) error {
			for ev, ok := e.PollEvent(); ok; ev, ok = e.PollEvent() {
				switch ev.Kind {
				case stamp.EventEntity:
					take(ev.Data)
				case stamp.EventClosed:
					return ev.Close
				}
			}
			return nil
		},
	})
}
