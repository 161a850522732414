package gateway

import (
	"cmp"
	"sort"

	"parley/play/message"
	"parley/world"
)

// members is who is in a room, for the clients that want to know: a list of changes, in which each player who is there has its newest
// alone. So a client that reads the list from its beginning learns who is there, and one that goes on reading what has changed. Players who
// have left stay in it until all clients have read of them.
type members struct {
	list   []member // by their numbers
	next   uint64   // the number of the next
	newest map[world.PlayerID]uint64
	look   int // which of the list is to be looked at next: see lookAtEntities
	full   int // the list is trimmed when it is longer
}

// member is a change.
type member struct {
	number uint64
	first  uint64 // the number of the first change of this player
	player world.PlayerID
	what   message.MemberNews // 0 if a newer change has taken its place
	entity world.ID
	wire   uint16
	via    message.Via
	name   string
}

// via is how the player is connected, or was last.
func (p *Player) via() message.Via { return message.ViaOf(p.Dialect, p.Carrier) }

// askFor reads a client's wish for members.
func askFor(b []byte) (ask, bool) {
	vias, ok := message.ParseMembersWish(b)
	if vias {
		return askVias, ok
	}
	return askMembers, ok
}

// listen has a client told of members from now on. Its first wish says whether also of how they are connected.
func (r *Room) listen(s *Seat, vias bool) {
	if s.roll != nil {
		return
	}
	if r.members == nil {
		r.muster()
	}
	s.roll = &roll{began: r.members.next, vias: vias}
}

// muster begins the list with those who are there.
func (r *Room) muster() {
	r.members = &members{newest: map[world.PlayerID]uint64{}}
	for _, p := range r.Players() {
		what := message.MemberHere
		if p.Away() {
			what = message.MemberAway
		}
		entity := r.entityOf(p)
		r.members.note(member{what: what, player: p.ID, entity: entity, wire: r.sim.Wire(entity), via: p.via(), name: p.Name})
	}
}

// note adds a change.
func (m *members) note(n member) {
	n.number, n.first = m.next, m.next
	m.next++
	if number, ok := m.newest[n.player]; ok {
		old := &m.list[m.at(number)]
		n.first, n.wire, n.via, n.name = old.first, cmp.Or(n.wire, old.wire), cmp.Or(n.via, old.via), old.name
		old.what, old.name = 0, ""
	}
	m.list = append(m.list, n)
	if n.what == message.MemberLeft {
		delete(m.newest, n.player)
	} else {
		m.newest[n.player] = n.number
	}
}

// at returns where the first change is whose number is not below one.
func (m *members) at(number uint64) int {
	i := sort.Search(len(m.list), func(i int) bool { return m.list[i].number >= number })
	return i
}

// noteMembers takes what the last tick has changed.
func (r *Room) noteMembers() {
	m := r.members
	if m == nil {
		return
	}
	for i := range r.sim.Events() {
		ev := &r.sim.Events()[i]
		n := member{player: ev.Player, entity: ev.Entity, wire: ev.Wire}
		_, known := m.newest[n.player]
		switch p := r.players[n.player]; {
		case ev.Kind == world.PlayerLeft && known:
			n.what = message.MemberLeft
		case p == nil: // it has left since, which the next tick tells
			continue
		case ev.Kind == world.PlayerJoined:
			n.what, n.via, n.name = message.MemberJoined, p.via(), p.Name
		case ev.Kind == world.PlayerAway && known:
			n.what = message.MemberAway
		case ev.Kind == world.PlayerBack && known:
			n.what, n.via = message.MemberBack, p.via()
		default:
			continue
		}
		m.note(n)
	}
	r.lookAtEntities()
	r.trim()
}

// lookAtEntities finds players whose entity is another than before. It looks at each once a second: a game gives players other entities
// whenever it likes, and does not say so.
func (r *Room) lookAtEntities() {
	m := r.members
	for range len(m.list)/r.hub.cfg.TickRate + 1 {
		if m.look++; m.look >= len(m.list) {
			m.look = 0
		}
		if len(m.list) == 0 {
			return
		}
		e := &m.list[m.look]
		p, ok := r.sim.World().Player(e.player)
		if e.what == 0 || e.what == message.MemberLeft || !ok || p.Entity == 0 || p.Entity == e.entity {
			continue
		}
		switch wire := r.sim.Wire(p.Entity); wire {
		case 0: // no client can know it yet
		case e.wire:
			e.entity = p.Entity
		default:
			what := message.MemberHere
			if e.what == message.MemberAway {
				what = e.what
			}
			m.note(member{what: what, player: e.player, entity: p.Entity, wire: wire})
		}
	}
}

// trim forgets changes that have been replaced, and players who have left when all clients have read so. If one does not read, it is
// never told of the oldest of them.
func (r *Room) trim() {
	m := r.members
	if len(m.list) <= m.full {
		return
	}
	read, listeners := m.next, 0
	for _, side := range r.sides {
		if side == nil {
			continue
		}
		for _, s := range side.seats {
			if s.roll != nil {
				listeners++
				read = min(read, s.roll.next)
			}
		}
	}
	if listeners == 0 {
		r.members = nil
		return
	}
	m.keep(func(e *member) bool { return e.what != 0 && (e.what != message.MemberLeft || e.number >= read) })
	lost := len(m.list) - len(m.newest) - maxDeparted
	m.keep(func(e *member) bool { // the oldest go, all at once: there may be thousands
		if lost <= 0 || e.what != message.MemberLeft {
			return true
		}
		lost--
		r.hub.stats.LostMembers++
		return false
	})
	m.full = 2*len(m.list) + maxDeparted/16
}

// keep drops the members that stays does not want.
func (m *members) keep(stays func(e *member) bool) {
	n := 0
	for i := range m.list {
		if stays(&m.list[i]) {
			m.list[n] = m.list[i]
			n++
		}
	}
	clear(m.list[n:])
	m.list = m.list[:n]
}
