package main

import (
	"errors"
	"io"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/shell"
	"parley/protocol/duplex"
	duplexcore "parley/protocol/duplex/core"
)

// duplexAnswer is the SID of what the server says to one client. It is a moment: an element
// that the server told one client alone would be gone with the next sync of everything.
const duplexAnswer = 1

// duplexSchema has elements of the sizes of W3.
var duplexSchema = &duplexcore.Schema{
	FromServer: duplexcore.Elements{Sizes: map[int16]duplexcore.Size{duplexAnswer: duplexcore.Fixed(crowdDown)}, Moments: []int16{duplexAnswer}},
	FromClient: duplexcore.Elements{Others: duplexcore.Fixed(crowdUp)},
}

var duplexPeers = []Peer{{
	Name: "duplex feed", Settings: "the player's element up and a moment down, over the feed; main is idle", Ours: true, Crowd: true,
	Listen: func(take func(Link, []byte)) (Server, error) {
		link := &duplexConn{} // used by one event at a time, on the loop
		s, err := duplex.Listen(loopback, duplexConfig(), func(c *duplex.Conn, ev duplex.Event) {
			if ev.Kind == duplex.EventUpdate {
				link.Conn = c
				take(link, ev.Data)
			}
		})
		if err != nil {
			return nil, err
		}
		return s, nil
	},
	Join: joinDuplex,
}}

func duplexConfig() duplex.Config {
	return duplex.Config{Schema: duplexSchema, MaxPlayers: serverMost, WaitingPerAddress: -1}
}

// duplexConn is the server's side; it is used on the loop.
type duplexConn struct{ *duplex.Conn }

func (c *duplexConn) Send(b []byte) error { return c.Update(duplexAnswer, b) }
func (c *duplexConn) Close() error {
	c.Conn.Close("")
	return nil
}

// duplexShared is what the light clients of a process share.
var duplexShared = &duplexcore.Shared{Rand: shell.Rand()}

// duplexMember is a client with both of its channels.
type duplexMember struct {
	*datagramMember
	e    *duplexcore.Endpoint
	main int
}

func joinDuplex(now time.Time, addr netip.AddrPort) (Member, error) {
	main, err := dialStream(addr)
	if err != nil {
		return nil, err
	}
	e := duplexcore.NewClient(now, addr, addr, duplexConfig(), duplexShared)
	feed, err := newDatagramMember(addr, endpoint{
		core:  e,
		ready: func() bool { return e.State() == duplexcore.StateOpen && e.FeedUp() },
		send:  func(now time.Time, b []byte) error { return e.Update(now, e.Player(), b) },
		poll: func(take func([]byte)) error {
			for ev, ok := e.PollEvent(); ok; ev, ok = e.PollEvent() {
				switch ev.Kind {
				case duplex.EventUpdate:
					take(ev.Data)
				case duplex.EventClosed:
					return ev.Close
				}
			}
			return nil
		},
	})
	return &duplexMember{feed, e, main}, err
}

func (m *duplexMember) Sockets() []int { return []int{m.fd, m.main} }

// Turn does what is due on main before the feed has its turn.
func (m *duplexMember) Turn(now time.Time, take func([]byte)) (time.Time, error) {
	for {
		n, err := unix.Read(m.main, scratch[:])
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err == unix.EAGAIN {
			break
		}
		if err != nil {
			return time.Time{}, err
		}
		if m.e.HandleBytes(now, scratch[:n]) < n {
			return time.Time{}, errors.New("a main that takes no more")
		}
		if err := m.poll(take); err != nil {
			return time.Time{}, err
		}
	}
	next, err := m.datagramMember.Turn(now, take)
	for err == nil {
		n := m.e.PollBytes(scratch[:])
		if n == 0 {
			break
		}
		_, err = unix.Write(m.main, scratch[:n])
		m.e.Written(now)
	}
	return next, err
}
