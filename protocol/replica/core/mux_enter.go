package core

import (
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

// begin puts a new connection into the lobby, or gives it a place at once.
func (m *Mux) begin(now time.Time, c *Conn) {
	if gone, ok := m.lobby.Come(now, c.Source().Addr(), c); ok {
		m.stats.GaveWay++
		gone.Close(gaveWay)
	}
	c.endpoint.guest = roster.Waiting(&c.member)
}

// Enter gives a connection its place and reports whether it has one. If no place is free, the client is told that the server is
// full, and the connection is closed. A connection that accepts the link table enters by itself. See Config.EnterWithin.
func (c *Conn) Enter() bool {
	switch {
	case roster.Entered(&c.member):
		return true
	case !roster.Waiting(&c.member):
		return false
	case !c.mux.lobby.Enter(c):
		c.Close(serverFull)
		return false
	}
	c.endpoint.guest = false
	return true
}

// closeLate closes those that did not enter in time.
func (m *Mux) closeLate(now time.Time) {
	for c, ok := m.lobby.Due(now); ok; c, ok = m.lobby.Due(now) {
		m.stats.Late++
		c.Close(enteredNot)
	}
}
