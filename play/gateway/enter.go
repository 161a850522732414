package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"parley/account"
	"parley/internal/admission"
	"parley/play/message"
	"parley/world"
)

// enter has somebody come into the room that its pass leads to.
func (h *Hub) enter(s *Seat, name string) {
	if s.room != nil && !s.considered || s.left || s.kicked != nil {
		return
	}
	h.withRoom(s, func(r *Room, err error) {
		switch {
		case r != nil:
			r.do(func() { r.enter(s, name) })
		case !s.left:
			h.refuse(s, err)
		}
	})
}

// withRoom calls fn with the room that somebody wants to enter, or why there is none: at once, or when a room of a cluster runs here.
func (h *Hub) withRoom(s *Seat, fn func(r *Room, err error)) {
	r := h.roomFor(s)
	switch session := s.pass != nil && s.pass.Kind == message.PassSession; {
	case h.draining != nil:
		fn(nil, RefusedDrained)
	case r != nil:
		fn(r, nil)
	case s.seeking: // it has asked for something else meanwhile
	case h.together != nil:
		s.seeking = true
		h.together.seek(s, func(why error) {
			if s.seeking = false; why == nil {
				if r = h.roomFor(s); r == nil { // it has ended meanwhile
					why = s.noRoom()
				}
			}
			fn(r, why)
		})
	case session:
		fn(nil, h.gate.noSession())
	default:
		h.gate.otherRoom()
		fn(nil, RefusedRoom)
	}
}

// roomFor returns the room that somebody wants to enter, nil if there is none here.
func (h *Hub) roomFor(s *Seat) *Room {
	switch {
	case s.pass != nil && s.pass.Kind == message.PassSession:
		if r := h.sessions[s.pass.token]; r != nil || s.led == "" {
			return r
		}
		return h.rooms[s.led]
	case s.pass != nil:
		r := h.rooms[s.pass.Room]
		if r != nil && s.pass.match && !r.settings.Match {
			return nil // one of that name, but not the one that the ticket was made for
		}
		return r
	case s.wants != "":
		return h.rooms[s.wants]
	}
	return h.rooms[MainRoom]
}

// noRoom is the answer to a pass that leads to a room which has ended.
func (s *Seat) noRoom() Refusal {
	if s.pass != nil && s.pass.Kind == message.PassSession {
		return RefusedSession
	}
	return RefusedRoom
}

// refuse has somebody told why it is not let in, with the next visit.
func (h *Hub) refuse(s *Seat, why error) {
	s.kicked = why
	h.logRefusal(s, why)
	h.refused = append(h.refused, s)
}

// enter lets somebody in, or has it told why not: a player who comes back at once, a newcomer as soon as its ticket is spent and
// its name is known to be no account's. The room is quiet.
func (r *Room) enter(s *Seat, name string) {
	h := r.hub
	if s.left {
		r.giveBack(s)
		return
	}
	if h.isBanned(s) {
		r.giveBack(s)
		h.refuse(s, banned(""))
		return
	}
	if r.state == roomEnded || s.considered && s.room != r { // which has the name of the room that its pass was good for
		h.refuse(s, r.noRoom(s))
		return
	}
	if r.shared != nil {
		if waits, full := r.shared.wait(true, func() { r.enter(s, name) }); full {
			r.giveBack(s)
			h.refuse(s, RefusedBusy)
			return
		} else if waits {
			return
		}
	}
	if r.shared == nil && r.sim.Full() { // the entry of this tick: in the next
		r.later = append(r.later, func() { r.enter(s, name) })
		return
	}
	if p, err := r.returning(s, name); p != nil || err != nil {
		if p == nil && s.isEarly(r) {
			h.together.soon(func() { r.do(func() { r.enter(s, name) }) })
			return
		}
		if err == nil {
			if r.shared != nil {
				err = r.shared.comeBack(s, p)
			} else {
				err = r.comeBack(s, p)
			}
		}
		if err != nil {
			h.refuse(s, err)
		}
		return
	}
	err := r.mayEnter(s)
	if err == nil {
		err = r.reserve(s)
	}
	if err == nil && r.shared == nil && r.room() <= 0 { // nothing but the want of a place keeps it out: else whoever is not let in would cost others theirs
		r.makeRoom()
	}
	asks := s.pass != nil && (s.pass.Kind == message.PassTicket || s.pass.Name != "")
	if err == nil && asks {
		s.use = fmt.Sprintf("%s@%d", r.Name(), r.settings.Opened)
		err = h.gate.spend(s)
	}
	if err != nil {
		r.giveBack(s)
		s.room, s.considered = r, false // which has its number back when it leaves
		h.refuse(s, err)
		return
	}
	s.room, s.considered = r, false
	s.counted = s.from.IsValid() && h.crowd.Enter(s.from)
	r.wake()
	if !asks {
		r.seat(s, name)
		return
	}
	s.entering = true
	r.entering++
	h.spending++
	h.settleTickets()
}

// returning returns the player who comes back: by its session, by its ticket as long as its client has shown no token, or by its
// account.
func (r *Room) returning(s *Seat, name string) (*Player, error) {
	switch {
	case s.account:
		for _, p := range r.away {
			if p.account && account.NameKey(p.Name) == account.NameKey(name) {
				return p, nil
			}
		}
	case s.pass == nil:
	case s.pass.Kind == message.PassSession:
		id, _ := r.sim.ByToken(s.pass.token)
		if p := r.players[id]; p != nil && !p.isOver() {
			return p, nil
		}
		return nil, r.hub.gate.noSession()
	case s.pass.Kind == message.PassTicket:
		id, _ := r.sim.Spent(s.pass.serial)
		if p := r.players[id]; p != nil && !p.isOver() {
			return p, nil
		}
	}
	return nil, nil
}

// isEarly reports whether a session is known to be in a room whose stage here may have yet to run the entry with it.
func (s *Seat) isEarly(r *Room) bool {
	return s.led == r.Name() && r.state != roomEnded && !s.left && time.Since(s.ledAt) < earlyTime
}

// isOver reports whether the player was kicked or has said goodbye, and its connection has yet to end: "The client's goodbye, a kick
// or a ban ends it at once" (entry). The goodbye may wait in the list of another dialect than the one that reads its pass.
func (p *Player) isOver() bool {
	return p.seat != nil && (p.seat.kicked != nil || p.seat.bade.Load() && !p.seat.isUnsure())
}

// settleTickets lets in those whose tickets are spent by now.
func (h *Hub) settleTickets() {
	if h.spending == 0 {
		return
	}
	h.verdicts = h.gate.settled(h.verdicts[:0])
	for _, v := range h.verdicts {
		h.spending--
		v.seat.room.do(func() { v.seat.room.settleTicket(v) })
	}
	clear(h.verdicts)
}

// settleTicket lets in somebody whose ticket is spent, or has it told why it is not.
func (r *Room) settleTicket(v verdict) {
	s := v.seat
	s.entering = false
	r.entering--
	switch {
	case s.left || r.state == roomEnded:
		if v.err == nil && s.pass.Kind == message.PassTicket { // spent, and it has let nobody in
			r.hub.gate.unspend(s)
		}
		r.unseat(s)
		if !s.left {
			r.hub.refuse(s, RefusedRoom)
		}
	case r.hub.isBanned(s):
		r.unseat(s)
		r.hub.refuse(s, banned(""))
	case v.err != nil:
		r.hub.gate.counted(v.err)
		r.unseat(s)
		r.hub.refuse(s, v.err)
	default:
		r.seat(s, v.name)
	}
}

// seat makes somebody a player or a spectator.
func (r *Room) seat(s *Seat, name string) {
	if s.spectator {
		r.hub.log.Info("watches", "conn", s.logNumber, "room", r.Name(), "proto", s.dialect.Name(), "peer", s.peer)
		r.sit(s, 0)
		return
	}
	if name = fitName(name); !s.account && account.Reserved(name) {
		name = ""
	}
	if r.shared != nil { // the log decides
		r.shared.join(s, name)
		return
	}
	if name == "" {
		name = fmt.Sprintf("guest-%d", r.sim.NextPlayer())
	}
	name = r.freeName(name)
	s.reserved = false // the world has it from here on
	id, err := r.sim.JoinAs(name, s.number)
	if err != nil {
		r.unseat(s)
		r.hub.refuse(s, RefusedFull)
		return
	}
	s.player = &Player{ID: id, Name: name, Since: time.Now(), account: s.account}
	s.player.sits(s)
	r.players[id] = s.player
	r.hub.players++
	r.names[account.NameKey(name)]++
	r.logPlayer("joined", s.player)
	r.leaveOthers(s.player)
	r.sit(s, id)
}

// sit has somebody see the room from now on. A player is given a token to come back with.
func (r *Room) sit(s *Seat, id world.PlayerID) {
	r.place(s, id)
	switch {
	case s.player == nil:
	case s.account: // the account is the session
		r.sim.Known(id)
		s.known = true
	default:
		r.giveToken(s)
	}
}

// place has somebody see the room.
func (r *Room) place(s *Seat, id world.PlayerID) {
	s.side = r.side(s.dialect)
	s.side.seats = append(s.side.seats, s)
	s.view = r.sim.NewView(id, s.dialect.view())
	s.chat.grow(chatRate, r.hub.cfg.TickRate) // it may speak at once
	s.terrain.grow(terrainRate, r.hub.cfg.TickRate)
	r.hub.welcomed = append(r.hub.welcomed, s)
}

// giveToken makes a token for a player. Only the player's client is told: we keep its hash.
func (r *Room) giveToken(s *Seat) {
	rand.Read(s.token[:])
	n := world.Session{Token: sha256.Sum256(s.token[:])}
	if s.pass != nil && s.pass.Kind == message.PassTicket {
		n.Serial, n.Expires = s.pass.serial, s.pass.expires
	}
	p := s.player
	r.sim.Admit(p.ID, n)
	if len(p.tokens) == 2 { // told, and neither acknowledged nor used: it is void
		delete(r.hub.sessions, p.tokens[1])
		p.tokens = p.tokens[:1]
	}
	p.tokens = append(p.tokens, n.Token)
	r.hub.sessions[n.Token] = r
}

// knows notes that a player's client has acknowledged its newest token: the one before is void.
func (r *Room) knows(s *Seat) {
	if s.known = true; r.shared != nil {
		if !s.confirmed { // once: clients may say it as often as they like, and what must be asked has no other bound
			s.confirmed = true
			r.shared.mustAsk(wishKnown, s.player.ID, "")
		}
		return
	}
	r.sim.Known(s.player.ID)
	r.voidFirst(s.player)
}

// voidFirst forgets the first of two tokens.
func (r *Room) voidFirst(p *Player) {
	if len(p.tokens) == 2 {
		delete(r.hub.sessions, p.tokens[0])
		p.tokens = p.tokens[1:]
	}
}

// errResumed is what a connection is told whose player came back over another.
const errResumed Refusal = "resumed elsewhere"

// comeBack gives a player's seat to a new connection.
func (r *Room) comeBack(s *Seat, p *Player) error {
	h := r.hub
	if s.considered && s.sid != r.sim.Wire(r.entityOf(p)) { // its ticket has let in another meanwhile, whose body is not the one that it was told of
		return RefusedUsed
	}
	if old := p.seat; old != nil { // its place at its address is free for the new one
		r.unseat(old)
	} else if p.counted {
		h.crowd.Leave(p.from)
		p.counted = false
	}
	if s.from.IsValid() && !h.hasRoom(s.from) {
		if old := p.seat; old != nil {
			old.counted = old.from.IsValid() && h.crowd.Enter(old.from)
		} else {
			p.counted = p.from.IsValid() && h.crowd.Enter(p.from)
		}
		h.stats.Crowded++
		return RefusedCrowd
	}
	if s.pass != nil && s.pass.Kind == message.PassSession {
		r.sim.Use(s.pass.token)
		if len(p.tokens) == 2 && p.tokens[1] == s.pass.token {
			r.voidFirst(p)
		}
	}
	if old := p.seat; old != nil {
		r.vacate(old)
		old.left = true
		old.kicked = errResumed
		h.refused = append(h.refused, old)
	} else {
		r.away = slices.DeleteFunc(r.away, func(o *Player) bool { return o == p })
	}
	r.giveBack(s) // the number of its own entity is the one that it had
	s.room, s.considered, s.player, s.known = r, false, p, true
	s.counted = s.from.IsValid() && h.crowd.Enter(s.from)
	p.sits(s)
	r.sim.Back(p.ID)
	r.wake()
	r.logPlayer("back", p)
	r.leaveOthers(p)
	r.sit(s, p.ID)
	return nil
}

// mayEnter returns why somebody is not let in: a Refusal.
func (r *Room) mayEnter(s *Seat) error {
	h := r.hub
	switch {
	case r.behind > shedBehind && r.now.Sub(r.found) > shedFor:
		h.stats.Shed++
		return RefusedBusy
	case s.spectator:
	case !r.admits(s):
		if s.account {
			return RefusedRoom
		}
		return RefusedGuest
	case r.isFull():
		return RefusedFull
	}
	if s.from.IsValid() && !h.hasRoom(s.from) {
		h.stats.Crowded++
		return RefusedCrowd
	}
	if s.pass != nil && s.pass.Kind == message.PassTicket {
		if r.shared != nil && r.shared.spent(s.pass.serial) {
			return RefusedUsed
		}
		return h.gate.refusal(s.pass)
	}
	return nil
}

// admits reports whether a player of this kind may enter: "A room that is not open wants a ticket of replica, relay and duplex
// players", and lists the accounts that may (entry).
func (r *Room) admits(s *Seat) bool {
	closed := r.settings.Closed || r.hub.gate.Wanted()
	switch {
	case !closed || s.pass != nil && s.pass.Kind == message.PassTicket:
		return true
	case s.account && r == r.hub.main && !r.settings.Closed:
		return !r.hub.cfg.NoMainAccounts
	case s.account:
		return slices.ContainsFunc(r.settings.Accounts, func(name string) bool { return account.NameKey(name) == account.NameKey(s.name) })
	}
	return false
}

// room returns how many more players there may be.
func (r *Room) room() int {
	return min(r.settings.MaxPlayers-len(r.players)-r.entering, r.hub.cfg.MaxPlayers-r.hub.players-r.hub.spending)
}

// isFull reports whether there is no place for a newcomer, and none that a guest who is away could give up.
func (r *Room) isFull() bool {
	return r.room() <= 0 && !slices.ContainsFunc(r.away, func(p *Player) bool { return !p.account })
}

// makeRoom gives up the longest-away guest for a newcomer.
func (r *Room) makeRoom() {
	for _, p := range r.away {
		if !p.account {
			r.remove(p)
			return
		}
	}
}

// newJoins limits how fast an address takes the seats that it may have.
func newJoins(perAddress int) *admission.Buckets {
	source, prefix := admission.NoLimit, admission.NoLimit
	if perAddress >= 0 {
		source = admission.Limit{Rate: max(perAddress/joinShare, leastJoins), Burst: max(perAddress*joinBurst, leastJoins)}
		prefix = admission.Limit{Rate: prefixMore * source.Rate, Burst: prefixMore * source.Burst}
	}
	var secret admission.Key
	rand.Read(secret[:])
	return admission.NewBuckets(admission.BucketsConfig{Source: source, Prefix: prefix, Total: admission.NoLimit}, secret)
}

// hasRoom reports whether one more of an address may come, and so fast.
func (h *Hub) hasRoom(from netip.Addr) bool { return h.hasRoomBut(from, 0) }

// hasRoomBut is hasRoom for somebody who has some of the address' seats already.
func (h *Hub) hasRoomBut(from netip.Addr, own int) bool {
	if h.cfg.PerAddress >= 0 && h.crowd.Of(from)-own >= h.cfg.PerAddress {
		return false
	}
	now := h.now
	if now.IsZero() { // in a hub that does not run
		now = time.Now()
	}
	return h.joins.Allow(now, from, 1)
}

// reserve takes a number for a player's own entity, if its dialect has not: without one nobody would see it, and its own client
// would wait for ever.
func (r *Room) reserve(s *Seat) error {
	if s.spectator || s.number != 0 {
		return nil
	}
	if s.number = r.sim.Reserve(); s.number == 0 {
		r.hub.stats.Numberless++
		return RefusedFull
	}
	s.reserved = true
	return nil
}

// giveBack gives back the number of a seat that no player has joined with. One that its dialect has reserved stays the
// dialect's until the seat has left: its connection may still be known by it.
func (r *Room) giveBack(s *Seat) {
	if s.reserved && (s.left || !s.lent) {
		r.free(s.number)
		s.number, s.reserved = 0, false
	}
}

// free gives back a number. The world of a room that has ended is not touched: a worker may still have it.
func (r *Room) free(number uint16) {
	if r.state != roomEnded {
		r.sim.Release(number)
	}
}

// forgo gives up the number that a seat has in another room, where its pass has led it before. The other room may be at its step:
// the seat is rid of the number at once, as in this room it would be another's.
func (s *Seat) forgo(r *Room) {
	if !s.considered || s.room == r {
		return
	}
	s.considered = false
	if s.reserved {
		old, number := s.room, s.number
		s.number, s.reserved = 0, false
		old.do(func() { old.free(number) })
	}
}

// consider finds out what a pass is worth before its bearer enters, and reserves the number that the bearer will have: for
// duplex, whose clients ask.
func (h *Hub) consider(s *Seat) {
	h.withRoom(s, func(r *Room, err error) {
		if r != nil {
			r.do(func() { r.judgePass(s) })
			return
		}
		s.verdict = err
		h.answered = append(h.answered, s)
	})
}

// judgePass has a seat told what its pass is worth. The room is quiet.
func (r *Room) judgePass(s *Seat) {
	h := r.hub
	if s.left {
		return
	}
	full := false
	if r.shared != nil && r.state != roomEnded {
		var waits bool
		if waits, full = r.shared.wait(true, func() { r.judgePass(s) }); waits && !full {
			return
		}
	}
	if s.verdict = RefusedBusy; !full {
		if s.verdict = r.consider(s); s.verdict == error(RefusedSession) && s.isEarly(r) {
			h.together.soon(func() { r.do(func() { r.judgePass(s) }) })
			return
		}
	}
	h.answered = append(h.answered, s)
}

func (r *Room) consider(s *Seat) error {
	s.forgo(r)
	if r.state == roomEnded {
		return s.noRoom()
	}
	p, err := r.returning(s, "")
	switch {
	case err != nil:
		return err
	case p != nil:
		if s.sid = r.sim.Wire(r.entityOf(p)); s.sid == 0 {
			return RefusedBusy // it has no body at the moment
		}
	case !r.admits(s):
		return RefusedGuest
	case r.isFull():
		return RefusedFull
	default:
		if s.pass != nil && s.pass.Kind == message.PassTicket {
			if r.shared != nil && r.shared.spent(s.pass.serial) {
				return RefusedUsed
			}
			if err := r.hub.gate.refusal(s.pass); err != nil {
				return err
			}
		}
		if err := r.reserve(s); err != nil {
			return err
		}
		s.sid = s.number
	}
	s.room, s.considered = r, true
	return nil
}
