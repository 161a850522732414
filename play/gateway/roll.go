package gateway

import (
	"slices"

	"parley/play/message"
	"parley/world"
)

// roll is what one client was told of the members of its room.
type roll struct {
	next  uint64 // it was told of all changes before this one
	vias  bool   // it wants to know how they are connected
	began uint64 // it was told of those before this one as who is there, and not as what happened

	// In a game with a rule of visibility: members whose entities were not in sight when the client was told of them. Each is looked at once a
	// second.
	veiled []world.PlayerID
	look   int

	// What was appended last, until it is known whether the connection takes it.
	before   uint64
	unveiled []world.PlayerID
}

// hasNews reports whether there may be something to tell.
func (s *Seat) hasNews() bool {
	return s.roll != nil && s.room.members != nil && (s.roll.next != s.room.members.next || len(s.roll.veiled) > 0)
}

// rollBytes is how many bytes of members a tick may tell a client.
func (s *Seat) rollBytes() int {
	if s.estimate.Rate == 0 {
		return maxRoll
	}
	return min(maxRoll, s.estimate.Budget/bulkShare) // the path is narrow
}

// appendMembers appends members that the client is to be told of: as many as fit into most bytes, but one at least if most is more than 0. If the
// connection does not take them, call untold: then the next call appends them again.
func (s *Seat) appendMembers(b []byte, o world.Order, most, count int) []byte {
	m, l := s.room.members, s.roll
	l.before, l.unveiled = l.next, l.unveiled[:0]
	if most <= 0 {
		return b
	}
	begin := len(b)
	for i := m.at(l.next); i < len(m.list); i++ {
		e := &m.list[i]
		if count == 0 || !e.fits(len(b)-begin, most) {
			return b
		}
		if what := l.news(e); what != 0 {
			b = l.append(b, message.Member{What: what, Entity: s.wireOf(e), Name: e.name, Via: e.via}, o)
			count--
		}
		l.next = e.number + 1
	}
	l.next = m.next
	for range len(l.veiled)/s.room.hub.cfg.TickRate + 1 {
		e := s.unveil()
		if e == nil || count == 0 || !e.fits(len(b)-begin, most) {
			break
		}
		if s.view.Sees(e.entity) {
			l.unveiled = append(l.unveiled, e.player)
			l.veiled = slices.Delete(l.veiled, l.look, l.look+1)
			b = l.append(b, message.Member{What: here(e.what), Entity: e.wire, Name: e.name, Via: e.via}, o)
			count--
		} else {
			l.look++
		}
	}
	return b
}

func (l *roll) append(b []byte, m message.Member, o world.Order) []byte {
	if l.vias {
		return m.AppendViaTo(b, o)
	}
	return m.AppendTo(b, o)
}

// fits reports whether a member fits into most bytes behind others. The first always does.
func (e *member) fits(others, most int) bool {
	return others == 0 || others+message.MemberBytes+len(e.name)+message.ViaBytes <= most
}

// unveil returns the next of the members whose entities may be in sight by now, nil if there is none. It forgets those who have left.
func (s *Seat) unveil() *member {
	m, l := s.room.members, s.roll
	for len(l.veiled) > 0 {
		l.look %= len(l.veiled)
		if number, ok := m.newest[l.veiled[l.look]]; ok {
			return &m.list[m.at(number)]
		}
		l.veiled = slices.Delete(l.veiled, l.look, l.look+1)
	}
	return nil
}

// untold takes back what was appended last.
func (l *roll) untold() {
	l.next = l.before
	l.veiled = append(l.veiled, l.unveiled...)
}

// news returns what a change is to the client, 0 if it is none.
func (l *roll) news(e *member) message.MemberNews {
	switch {
	case e.what == message.MemberLeft && (e.number < l.began || e.first >= l.before): // it was never told of the player
		return 0
	case e.number < l.began:
		return here(e.what)
	}
	return e.what
}

// here is how a client is told of somebody who is there, if that is all it is told.
func here(what message.MemberNews) message.MemberNews {
	if what == 0 || what == message.MemberAway {
		return what
	}
	return message.MemberHere
}

// wireOf returns the number of a member's entity, or 0 if the client may not know it: the rule of the game may hide an entity, and then its number
// is a secret too. What a client has in sight is none.
func (s *Seat) wireOf(e *member) uint16 {
	if s.room.hub.cfg.Game.Sees == nil || e.player == s.player.ID {
		return e.wire
	}
	if e.what == message.MemberLeft {
		return 0
	}
	if s.view.Sees(e.entity) {
		return e.wire
	}
	if !slices.Contains(s.roll.veiled, e.player) {
		s.roll.veiled = append(s.roll.veiled, e.player)
	}
	return 0
}
