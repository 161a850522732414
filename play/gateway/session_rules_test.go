package gateway

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"parley/play/message"
	relaycore "parley/protocol/relay/core"
	"parley/world"
)

// What the page (entry) says of rooms, players and passes, for the model.

// place is a room of the model.
type place struct {
	room   *Room
	closed bool
	max    int
	list   string // the account that it lists
	slow   bool   // its step takes long in this turn
	told   bool   // and is done
	asleep bool   // it has no step in this turn
	left   int    // the turn in which an account has left it for another, perhaps after its step
	ended  bool
	bodies []*body // in the order in which they came
	away   []*body // the longest away first
	late   []func()
}

// body is a player of the model.
type body struct {
	place   *place
	fresh   []*visitor // whose tokens are the newest, and not yet among tokens
	id      world.PlayerID
	conn    *visitor
	tokens  []world.TokenHash
	account string
	serial  string // of its ticket
	shown   bool   // its client has shown a token
	kicked  bool
	since   uint64
	from    netip.Addr
	born    int // the turn whose step makes its entity
	entity  world.ID
	wire    uint16
}

// on has something done with a room: now, or when its step is done.
func (p *place) on(fn func()) {
	if p.slow && !p.told && !p.ended {
		p.late = append(p.late, fn)
		return
	}
	fn()
}

// players are all of the model.
func (m *model) players() (n int) {
	for _, p := range m.places {
		n += len(p.bodies)
	}
	return n
}

// held is how many seats an address has.
func (m *model) held(from netip.Addr) (n int) {
	for _, p := range m.places {
		for _, b := range p.bodies {
			if b.from == from {
				n++
			}
		}
	}
	return n
}

// tells notes that a connection is told to go.
func (v *visitor) tells(why error) { v.ought = append(v.ought, why.Error()) }

// owner returns the body that a pass brings back, by its room.
func (m *model) byToken(hash world.TokenHash) *body {
	for _, p := range m.places {
		for _, b := range p.bodies {
			if slices.Contains(b.tokens, hash) {
				return b
			}
		}
	}
	return nil
}

// goal returns the room of a connection's pass, or why there is none.
func (m *model) goal(v *visitor) (*place, error) {
	name := "main"
	switch p := v.pass; {
	case p != nil && p.Kind == message.PassSession:
		if b := m.byToken(p.token); b != nil {
			return b.place, nil
		}
		return nil, RefusedSession
	case p != nil:
		name = p.Room
	case v.wants != "":
		name = v.wants
	}
	if p := m.places[name]; p != nil {
		return p, nil
	}
	return nil, RefusedRoom
}

// back returns the body that a connection comes back to.
func (m *model) back(p *place, v *visitor) (*body, error) {
	for _, b := range p.bodies {
		switch {
		case b.kicked || b.conn != nil && b.conn.parted:
		case v.account && b.account != "" && b.conn == nil && b.account == v.name:
			return b, nil
		case v.pass == nil:
		case v.pass.Kind == message.PassSession && slices.Contains(b.tokens, v.pass.token):
			return b, nil
		case v.pass.Kind == message.PassTicket && b.serial == string(v.pass.serial[:]) && !b.shown:
			return b, nil
		}
	}
	if v.pass != nil && v.pass.Kind == message.PassSession {
		return nil, RefusedSession
	}
	return nil, nil
}

// mayEnter returns why a newcomer is not let in, before the places of its address.
func (m *model) mayEnter(p *place, v *visitor) error {
	ticket := v.pass != nil && v.pass.Kind == message.PassTicket
	switch {
	case !p.closed || ticket:
	case v.account && p.room == m.h.main:
	case v.account && v.name == p.list:
	case v.account:
		return RefusedRoom
	default:
		return RefusedGuest
	}
	guest := func(b *body) bool { return b.account == "" }
	if (len(p.bodies) >= p.max || m.players() >= m.most) && !slices.ContainsFunc(p.away, guest) {
		return RefusedFull
	}
	return nil
}

// used reports whether the ticket of a connection has let a player in.
func (m *model) used(v *visitor) bool {
	return v.pass != nil && v.pass.Kind == message.PassTicket && m.spent[string(v.pass.serial[:])]
}

// enter is what becomes of a connection that wants to enter.
func (m *model) enter(v *visitor) {
	p, err := m.goal(v)
	if err != nil {
		v.tells(err)
		return
	}
	p.on(func() {
		if v.over {
			return
		}
		if p.ended {
			v.tells(v.noRoom())
			return
		}
		b, err := m.back(p, v)
		switch {
		case v.goal != 0 && v.at != p:
			err = v.noRoom()
		case err != nil:
		case b != nil && v.goal != 0 && v.goal != b.wire:
			err = RefusedUsed
		case b != nil:
			err = m.comeBack(b, v)
		default:
			err = m.newcomer(p, v)
		}
		if err != nil {
			v.tells(err)
		}
	})
}

func (m *model) newcomer(p *place, v *visitor) error {
	if err := m.mayEnter(p, v); err != nil {
		return err
	}
	if m.held(v.from) >= m.limit {
		return RefusedCrowd
	}
	if m.used(v) {
		return RefusedUsed
	}
	if len(p.bodies) >= p.max || m.players() >= m.most {
		i := slices.IndexFunc(p.away, func(b *body) bool { return b.account == "" })
		m.remove(p.away[i])
	}
	b := &body{place: p, conn: v, fresh: []*visitor{v}, from: v.from, born: m.turn}
	if p.slow || p.asleep {
		b.born++
	}
	if v.pass != nil && v.pass.Kind == message.PassTicket {
		b.serial = string(v.pass.serial[:])
		m.spent[b.serial] = true
	}
	if v.account {
		b.account, v.acked = v.name, true
	}
	p.bodies = append(p.bodies, b)
	v.body, v.at = b, p
	v.expected++
	m.leaveOthers(b)
	return nil
}

// leaveOthers has an account leave the other rooms in which it is away.
func (m *model) leaveOthers(b *body) {
	for _, p := range m.places {
		if b.account != "" && p != b.place {
			p.on(func() {
				for _, o := range slices.Clone(p.away) {
					if o.account == b.account && !p.ended {
						m.remove(o)
						p.left = m.turn
					}
				}
			})
		}
	}
}

func (m *model) comeBack(b *body, v *visitor) error {
	n := m.held(v.from)
	if b.from == v.from {
		n--
	}
	if n >= m.limit {
		return RefusedCrowd
	}
	if v.pass != nil && v.pass.Kind == message.PassSession {
		if len(b.tokens) == 2 && b.tokens[1] == v.pass.token {
			b.tokens = b.tokens[1:]
		}
		b.shown = true
	}
	if old := b.conn; old != nil {
		old.body, old.expected = nil, old.sure[1]
		old.tells(errResumed)
	} else {
		b.place.away = slices.DeleteFunc(b.place.away, func(o *body) bool { return o == b })
	}
	switch n := len(b.fresh); {
	case len(b.tokens)+n < 2:
	case n > 0:
		b.fresh = b.fresh[:n-1]
	default:
		b.tokens = b.tokens[:1]
	}
	b.fresh = append(b.fresh, v)
	b.conn, b.from, v.body, v.at, v.acked = v, v.from, b, b.place, true
	v.expected++
	m.leaveOthers(b)
	return nil
}

// leave is what becomes of a connection that is over.
func (m *model) leave(v *visitor, bye bool) {
	gone := func() {
		v.over = true
		if n := len(v.ought); n == 0 || v.ought[n-1] != errResumed.Error() && !strings.HasPrefix(v.ought[n-1], "banned") {
			v.ought, v.expected = v.ought[:v.sure[0]], v.sure[1]
		}
		b := v.body
		switch v.body = nil; {
		case b == nil || b.conn != v:
		case b.place.ended:
			b.conn = nil
		case bye || !v.acked && (v.pass == nil || v.pass.Kind != message.PassTicket) || b.kicked || m.hold == 0:
			m.remove(b)
		default:
			b.conn, b.since = nil, b.place.room.sim.Tick()
			b.place.away = append(b.place.away, b)
		}
	}
	if v.at == nil {
		gone()
	} else {
		v.at.on(gone)
	}
}

// tell is when all are told what was decided.
func (m *model) tell() {
	for _, v := range m.conns {
		v.sure = [2]int{len(v.ought), v.expected}
	}
}

// remove takes a player out.
func (m *model) remove(b *body) {
	p := b.place
	is := func(o *body) bool { return o == b }
	p.bodies, p.away = slices.DeleteFunc(p.bodies, is), slices.DeleteFunc(p.away, is)
	if b.conn != nil {
		b.conn.body = nil
	}
}

// kick has the operator kick somebody.
func (m *model) kick() {
	for _, name := range modelRooms {
		p := m.places[name]
		if p == nil || len(p.bodies) == 0 {
			continue
		}
		b := p.bodies[m.rand.IntN(len(p.bodies))]
		if b.kicked || p.room.players[b.id] == nil {
			return
		}
		m.note("kick %d of %s", b.id, p.room.Name())
		p.room.Kick(b.id, "kicked")
		p.on(func() {
			b.kicked = true
			if b.conn == nil {
				m.remove(b)
				return
			}
			b.conn.tells(errors.New("kicked"))
		})
		return
	}
}

// ban has the operator ban an address: those who play from there are out at once, in every room.
func (m *model) ban() {
	addr, why := modelAddrs[m.rand.IntN(len(modelAddrs))], banned("as the model says")
	m.note("ban %v", addr)
	m.h.EvictAddress(string(why), func(a netip.Addr) bool { return a == addr })
	for _, p := range m.places {
		p.on(func() {
			for _, b := range slices.Clone(p.bodies) {
				if b.from != addr {
					continue
				}
				if v := b.conn; v != nil {
					v.ought, v.expected = v.ought[:v.sure[0]], v.sure[1] // a kick of this turn is not told any more
					v.tells(why)
				}
				m.remove(b)
			}
		})
	}
}

// know is what an acknowledgement does.
func (m *model) know(v *visitor) {
	if v.body == nil {
		return
	}
	b := v.body
	b.place.on(func() {
		if b.conn == v && !v.over {
			b.tokens, b.shown, v.acked = b.tokens[len(b.tokens)-1:], true, true
		}
	})
}

// end is the end of a room.
func (m *model) end(name string, why error) {
	p := m.places[name]
	p.ended = true
	for _, fn := range p.late {
		fn()
	}
	p.late = nil
	for _, b := range p.bodies {
		if b.conn != nil {
			v := b.conn // which hears nothing else of this turn
			v.ought, v.expected, v.body = v.ought[:v.sure[0]], v.sure[1], nil
			v.tells(why)
		}
	}
	delete(m.places, name)
}

// endHolds is what the beginning of a tick does.
func (m *model) endHolds() {
	for _, p := range m.places {
		for len(p.away) > 0 && p.room.sim.Tick()-p.away[0].since >= m.hold {
			m.remove(p.away[0])
		}
	}
}

// judge says what the gate answers to a pass, by the page alone.
func (m *model) judge(pass []byte) error {
	if len(pass) == 0 {
		if m.key {
			return RefusedGuest
		}
		return nil
	}
	switch pass[0] {
	case 'S':
		if len(pass) == 17 {
			return nil
		}
	case 'R':
		p := pass[1:]
		if len(p) > 0 && int(p[0]) < len(p)-1 && message.IsRoomName(string(p[1:1+p[0]])) {
			if p = p[1+p[0]:]; int(p[0]) == len(p)-1 {
				return nil
			}
		}
	case 'T':
		_, err := m.h.gate.key.Check(m.clock, "", pass)
		switch {
		case err == nil, errors.Is(err, relaycore.ErrTicketRoom):
			return nil
		case errors.Is(err, relaycore.ErrTicketForm):
			return RefusedMalformed
		}
		return RefusedTicket
	}
	return RefusedMalformed
}

// consider is what the answer to that is.
func (m *model) consider(v *visitor) {
	answer := func(err error) { v.answers = append(v.answers, err.Error()) }
	p, err := m.goal(v)
	if err != nil {
		answer(err)
		return
	}
	p.on(func() {
		if v.over {
			return
		}
		if p.ended {
			answer(v.noRoom())
			return
		}
		b, err := m.back(p, v)
		switch {
		case err != nil:
			answer(err)
		case b != nil && (b.born > m.turn || b.born == m.turn && !p.slow):
			answer(RefusedBusy)
		case b != nil:
			want := "sid" // which only the hub knows, if it is that of this turn
			if b.wire != 0 {
				want = fmt.Sprint("sid ", b.wire)
			}
			v.answers, v.at = append(v.answers, want), p
		default:
			if err = m.mayEnter(p, v); err == nil && m.used(v) {
				err = RefusedUsed
			}
			if err != nil {
				answer(err)
			} else {
				v.answers, v.at = append(v.answers, "sid"), p
			}
		}
	})
}
