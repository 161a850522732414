package gateway

import (
	"math"
	"time"

	"parley/play/message"
)

// The way of a connection through the hub, the same for all dialects: it enters, asks, and leaves. A dialect's loop calls
// these. The hub decides whether a player is let in (players.go, gate.go).

// enter asks for a place in the game, under a name or none.
func (s *Seat) enter(name string) {
	s.dialect.requests().put(request{seat: s, ask: askEnter, name: name})
}

// ask hands the request of a message to the hub, if the message could be read; else the message is counted. It reports
// whether the hub has the request.
func (s *Seat) ask(r *request, read bool) bool {
	if !read {
		s.dialect.requests().unread()
		return false
	}
	r.seat = s
	return s.dialect.requests().put(*r)
}

// leave gives up the place. goodbye says that the client wanted to: else its player may be held.
func (s *Seat) leave(goodbye bool) {
	s.dialect.requests().put(request{seat: s, ask: askLeave, bye: goodbye})
}

// session is what a player who has entered is told to come back with.
func (s *Seat) session() message.Session {
	return message.Session{Token: s.token, Hold: uint16(min(s.room.hub.hold()/time.Second, math.MaxUint16))}
}

// world is what a player who has entered is told of its room.
func (s *Seat) world() message.World {
	c := s.room.sim.Config()
	return message.World{Seed: c.Seed, TickRate: uint16(c.TickRate), Tick: uint32(s.room.sim.Tick()), Mode: []byte(c.Mode), Fingerprint: s.room.sim.Schema().Fingerprint()}
}
