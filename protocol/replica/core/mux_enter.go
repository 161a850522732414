package core

import (
	"net/netip"
	"time"

	"parley/internal/roster"
)

// This file is the way from a proven address to a place: "A place is taken when a player enters, never before"
// (entry).

// What those are told who do not get in.
const (
	serverFull = "server full"
	enteredNot = "did not enter in time"
	gaveWay    = "too many connections that did not enter"
)

// hasRoom reports whether one more of an address may be proven and not entered: "beyond that its newcomers go
// unanswered and try again".
func (m *Mux) hasRoom(from netip.AddrPort) bool {
	return m.lobby == nil || m.lobby.HasRoom(from.Addr())
}

// begin puts a new connection into the lobby, or gives it a place at once.
func (m *Mux) begin(now time.Time, c *Conn) {
	if m.lobby == nil {
		c.entered = true
		m.places++
		return
	}
	c.endpoint.guest = true
	if gone, ok := m.lobby.Come(now, c.endpoint.peer.Addr(), c); ok {
		m.stats.GaveWay++
		gone.Close(gaveWay)
	}
}

// Enter gives a connection its place and reports whether it has one. If no place is free, the client is told that the server is
// full, and the connection is closed. A connection that accepts the link table enters by itself. See Config.EnterWithin.
func (c *Conn) Enter() bool {
	m := c.mux
	switch {
	case c.entered:
		return true
	case roster.Gone(&c.member) || m.lobby == nil || !m.lobby.Leave(c):
		return false
	case m.places >= m.cfg.MaxConns:
		c.Close(serverFull)
		return false
	}
	c.entered, c.endpoint.guest = true, false
	m.places++
	return true
}

// closeLate closes those that did not enter in time.
func (m *Mux) closeLate(now time.Time) {
	if m.lobby == nil {
		return
	}
	for c, ok := m.lobby.Due(now); ok; c, ok = m.lobby.Due(now) {
		m.stats.Late++
		c.Close(enteredNot)
	}
}

// leave takes back what a connection had that is over.
func (m *Mux) leave(c *Conn) {
	if m.lobby != nil {
		m.lobby.Leave(c)
	}
	if c.entered {
		c.entered = false
		m.places--
	}
}
