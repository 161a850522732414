package gateway

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

// leave gives up the place.
func (s *Seat) leave() { s.dialect.requests().put(request{seat: s, ask: askLeave}) }
