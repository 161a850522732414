package gateway

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
	"time"

	"parley/account"
	"parley/play/message"
	"parley/world"
)

// news is an item of an entry, as the hub needs it when the entry has been run.
type news struct {
	kind   world.ItemKind
	input  world.InputKind
	mine   bool
	number uint64 // of the request
	player world.PlayerID
	name   string
	text   []byte
	reason world.Reason
	tick   uint64
}

// read notes what an entry has, before it is run. A worker calls it.
func (x *shared) read(e *world.Entry) {
	x.news = x.news[:0]
	for i := range e.Items {
		it := &e.Items[i]
		n := news{kind: it.Kind, mine: it.Origin.Request != 0 && it.Origin.Node == x.node, number: it.Origin.Request, player: it.Player,
			text: bytes.Clone(it.Text), reason: it.Reason, tick: e.Tick}
		if it.Kind == world.ItemInput {
			n.input, n.name = it.Input.Kind, it.Input.Name
		}
		if n.mine {
			if a := x.askedAt(n.number); a != nil {
				it.Tag = a.tag
				if n.input == world.Join && a.seat != nil { // not before the log has it: what is sealed may be lost, and the seat waits for the next
					x.room.sim.Await(n.player, a.seat.number)
				}
			}
		}
		switch n.input {
		case world.Join:
			x.enlist(n.player, n.name)
		case world.Leave:
			x.delist(n.player)
		}
		x.news = append(x.news, n)
	}
}

// askedAt returns what this server has asked for under a number.
func (x *shared) askedAt(number uint64) *asked {
	i, ok := slices.BinarySearchFunc(x.asked, number, func(a asked, n uint64) int { return cmp.Compare(a.number, n) })
	if !ok {
		return nil
	}
	return &x.asked[i]
}

// settle does what an entry has brought, and answers who has asked for it.
func (x *shared) settle() {
	newest := uint64(0)
	for i := range x.news {
		n := &x.news[i]
		var a *asked
		if n.mine {
			a, newest = x.askedAt(n.number), max(newest, n.number)
		}
		x.happens(n, a)
	}
	x.news = x.news[:0]
	done := 0
	for done < len(x.asked) && x.asked[done].number <= newest {
		done++
	}
	x.answered(done)
}

// happens does what an item says. a is what this server has asked for, if it was that.
func (x *shared) happens(n *news, a *asked) {
	r := x.room
	p := r.players[n.player]
	switch {
	case n.kind == world.ItemAnswer && a != nil:
		x.refused(a, n.reason)
	case n.input == world.Join:
		p = r.meet(n.player, n.name)
		if a != nil && a.seat != nil {
			p.account = a.seat.account
			a.seat.reserved = false // the number is its entity's
		}
		x.seated(p, a, n.tick)
	case n.input == world.Back && p != nil:
		r.away = slices.DeleteFunc(r.away, func(o *Player) bool { return o == p })
		x.unseat(p, errResumed)
		x.seated(p, a, n.tick)
	case n.input == world.Away && p != nil:
		x.unseat(p, errDrained) // this server stood still, and the others took it for dead: the client comes back
		p.wentAway(n.tick)
		r.away = slices.DeleteFunc(r.away, func(o *Player) bool { return o == p })
		r.holdSeat(p, r.sim.Tick()+r.ticksOf(r.hub.hold()))
		r.logPlayer("away", p)
	case n.input == world.Leave && p != nil:
		x.unseat(p, errResumed)
		r.forget(p)
		r.logPlayer("left", p)
	case a != nil && a.kind == wishInject:
		r.injected--
	case (n.input == world.Steer || n.input == world.Act) && a != nil && a.seat != nil:
		a.seat.answers = true
		a.seat.did(a.stamp)
	case (n.kind == world.ItemSession || n.kind == world.ItemKnown) && p != nil:
		if n.kind == world.ItemSession && p.seat == nil {
			p.account = false
		}
		if r.retoken(p); n.kind == world.ItemKnown && len(p.tokens) == 0 {
			p.account = true // its account is its session
		}
	case n.kind == world.ItemChat && p != nil:
		r.hub.stats.Chat++
		x.speak(n.tick, Line{Player: p, Name: p.Name, Entity: r.sim.Wire(r.entityOf(p)), Text: n.text})
		if a != nil && a.seat != nil {
			a.seat.answer(a.tag, world.Accepted)
		}
	case n.kind == world.ItemSay:
		x.speak(n.tick, Line{Name: message.ServerName, Text: n.text})
	case n.kind == world.ItemKick && p != nil:
		r.logPlayer("kicked", p, "reason", string(n.text))
		if p.seat != nil {
			p.seat.kicked = expelled(n.text) // it leaves with the same entry
		}
	}
}

// meet makes a player of one whom the world has.
func (r *Room) meet(id world.PlayerID, name string) *Player {
	p := &Player{ID: id, Name: name, Since: time.Now()}
	r.players[id] = p
	r.hub.players++
	r.names[account.NameKey(name)]++
	return p
}

// retoken looks again at the tokens that a player can come back with.
func (r *Room) retoken(p *Player) {
	old := p.tokens
	for _, t := range old {
		delete(r.hub.sessions, t)
	}
	p.tokens = r.sim.Tokens(p.ID)
	r.shared.void(slices.DeleteFunc(old, func(t world.TokenHash) bool { return slices.Contains(p.tokens, t) }))
	for _, t := range p.tokens {
		r.hub.sessions[t] = r
	}
}

// seated gives a player the connection that has asked for it.
func (x *shared) seated(p *Player, a *asked, tick uint64) {
	r := x.room
	r.uncount(p) // it is not away
	if a == nil || a.seat == nil || a.kind != wishJoin && a.kind != wishBack {
		x.heard[p.ID] = time.Now() // another server has it
		return
	}
	s := a.seat
	early := s.early
	s.entering, s.early, a.seat = false, nil, nil
	r.entering--
	if s.left || r.hub.isBanned(s) {
		r.unseat(s)
		if !s.left {
			r.hub.refuse(s, banned(""))
		}
		kind := wishLeave
		if s.left && s.isUnsure() && r.hub.hold() > 0 {
			kind = wishAway // it gave up waiting for the log, and may come back over another
		}
		r.later = append(r.later, func() { x.goes(p.ID, tick, kind) })
		return
	}
	what := "joined"
	if a.kind == wishBack || p.silent != 0 { // an account asks to join, and may be back
		what = "back"
	}
	p.hears(s)
	if s.from.IsValid() && !s.counted { // the place was its own, over the connection before
		s.counted = r.hub.crowd.Enter(s.from)
	}
	r.giveBack(s) // of one who is back: its entity has a number
	s.since, s.player, s.known = tick, p, s.account || a.kind == wishBack
	p.account = p.account || s.account
	p.sits(s)
	r.logPlayer(what, p)
	r.leaveOthers(p)
	r.place(s, p.ID)
	if len(early) > 0 {
		r.later = append(r.later, func() {
			for i := range early {
				r.handle(&early[i])
			}
		})
	}
}

// unseat takes a player's connection away, and says why.
func (x *shared) unseat(p *Player, why error) {
	s := p.seat
	if s == nil {
		return
	}
	r := x.room
	p.seat = nil
	r.vacate(s)
	r.unseat(s)
	if s.moves != nil && s.moves.asked {
		why = errDrained
	}
	if s.left = true; s.kicked == nil {
		s.kicked = why
	}
	r.hub.refused = append(r.hub.refused, s)
}

// noteMember tells clients of a player whose coming or leaving was in entries that this server has not run.
func (r *Room) noteMember(p *Player, what message.MemberNews) {
	if r.members == nil {
		return
	}
	if _, known := r.members.newest[p.ID]; known == (what == message.MemberLeft) {
		entity := r.entityOf(p)
		r.members.note(member{what: what, player: p.ID, entity: entity, wire: r.sim.Wire(entity), via: p.via(), name: p.Name})
	}
}

// catchUp answers who has asked for what is in entries that this server has not run: a snapshot took their place.
func (x *shared) catchUp() {
	r, newest := x.room, x.room.sim.Newest(x.node)
	done := 0
	for ; done < len(x.asked) && x.asked[done].number <= newest; done++ {
		a := &x.asked[done]
		switch s := a.seat; {
		case a.kind == wishInject:
			r.injected--
		case s == nil:
		case a.kind == wishJoin || a.kind == wishBack:
			id, ok := r.sim.ByToken(sha256.Sum256(s.token[:]))
			if at, _ := r.sim.Seat(id); ok && !at.Away && r.players[id].seat == nil {
				x.seated(r.players[id], a, at.Since)
			} else {
				x.refused(a, world.Absent)
			}
		default:
			s.did(a.stamp)
			s.answer(a.tag, world.Accepted)
		}
	}
	x.answered(done)
}

// refused answers who has asked in vain.
func (x *shared) refused(a *asked, why world.Reason) {
	r, s := x.room, a.seat
	if a.kind == wishInject {
		if r.injected--; why == world.TooMany { // the tick had as many as it takes
			r.injected++
			r.later = append(r.later, func() { x.askInject(a.body) })
		}
		return
	}
	if s == nil {
		return
	}
	switch a.kind {
	case wishInput:
		r.hub.stats.RefusedInputs++
		if s.did(a.stamp); s.player != nil && !s.left {
			if a.steers {
				s.view.Refused(r.entityOf(s.player), r.sim.Tick()-1)
			}
			s.answer(a.tag, why)
		}
	case wishSay:
		s.answer(a.tag, why)
	case wishJoin, wishBack:
		x.turnAway(s, refusalOf(a.kind, why))
	}
}

// refusalOf is the refusal that an answer of the log means.
func refusalOf(kind wishKind, why world.Reason) Refusal {
	switch {
	case kind == wishBack:
		return RefusedSession
	case why == world.Denied:
		return RefusedUsed
	}
	return RefusedFull
}

// undo has everybody here connect again who was told of ticks that the log does not have: for them the world would go back. What players asked for
// in those ticks is asked for again, and who has joined in them joins.
func (x *shared) undo() {
	r, now := x.room, time.Now()
	x.undone = false
	for _, p := range r.Players() {
		if p.seat != nil {
			x.unseat(p, errDrained)
			x.heard[p.ID] = now // it has a while to come back
		}
	}
	for _, side := range r.sides {
		for side != nil && len(side.seats) > 0 {
			r.sendOff(side.seats[0])
		}
	}
	x.spoken = slices.DeleteFunc(x.spoken, func(s spoken) bool { return s.tick >= x.top })
	for _, t := range r.taps {
		t.undo()
	}
}

// reconcile brings the players to what the world has, when it is another than before.
func (x *shared) reconcile() {
	r := x.room
	for _, p := range r.Players() {
		if at, ok := r.sim.Seat(p.ID); ok && at.Away {
			x.unseat(p, errDrained) // as when the log says so
		} else if !ok {
			x.unseat(p, errResumed)
			r.forget(p)
			r.noteMember(p, message.MemberLeft)
		} else if p.seat != nil && at.Since != p.seat.since {
			x.unseat(p, errResumed) // it is elsewhere by now
		}
	}
	for wp := range r.sim.World().Players() {
		at, ok := r.sim.Seat(wp.ID)
		p := r.players[wp.ID]
		switch {
		case !ok: // it leaves in a tick to come
			continue
		case p == nil:
			p = r.meet(wp.ID, wp.Name)
			p.account = len(r.sim.Tokens(wp.ID)) == 0
			x.heard[p.ID] = time.Now()
			r.noteMember(p, message.MemberJoined)
		}
		if r.retoken(p); !at.Away {
			r.uncount(p)
		}
		if r.away = slices.DeleteFunc(r.away, func(o *Player) bool { return o == p }); at.Away {
			r.holdSeat(p, r.sim.Tick()+r.ticksOf(r.hub.hold()))
		}
	}
	x.catchUp()
	if !x.open {
		x.open, x.behind = true, time.Now() // to load took its own time
	}
}
