package gateway

import (
	"errors"
	"fmt"

	"parley/account"
	"parley/world"
)

// What the sequencer of a shared room decides: whether a wish is granted, and under which name. A worker calls it, so it uses the world and
// what shared keeps beside it, and nothing of the hub.

// Take puts a wish into the entry of the next tick: see core.World.
func (x *shared) Take(node, number uint64, body []byte) bool {
	switch s := x.room.sim; {
	case number <= s.Newest(node): // it is done
		return true
	case s.Full() || !s.From(world.Origin{Node: node, Request: number}):
		return false
	}
	x.grant(node, number, body)
	if x.room.sim.Newest(node) < number { // it has changed nothing, and who asks is to know that it was heard
		x.room.sim.Answer(world.Ignored)
	}
	x.room.sim.From(world.Origin{})
	return true
}

func (x *shared) grant(node, number uint64, body []byte) {
	s, mine := x.room.sim, (*asked)(nil)
	if node == x.node {
		mine = x.askedAt(number)
	}
	r := wishReader{b: body}
	switch kind := wishKind(r.take(1)[0]); kind {
	case wishInput:
		tag := uint32(0)
		if mine != nil {
			tag = mine.tag
		}
		s.Submit(r.b, tag)
		return
	case wishJoin:
		if j := r.join(); r.done() {
			x.admit(world.Origin{Node: node, Request: number}, &j)
			return
		}
	case wishBack:
		p, used, token := r.player(), world.TokenHash{}, world.TokenHash{}
		copy(used[:], r.take(len(used)))
		copy(token[:], r.take(len(token)))
		if r.done() {
			x.readmit(p, used, token)
			return
		}
	case wishAway, wishLeave:
		if p, since := r.player(), r.u64(); r.done() {
			x.dismissPlayer(kind, p, since)
			return
		}
	case wishKnown:
		p := r.player()
		if at, ok := s.Seat(p); r.done() && ok && !(at.Known && len(s.Tokens(p)) < 2) {
			s.Known(p)
		}
		return
	case wishSay:
		if p := r.player(); !r.failed {
			s.Chat(p, r.b)
			return
		}
	case wishTell:
		s.Say(r.b)
		return
	case wishInject:
		switch err := s.SubmitInject(r.b); {
		case errors.Is(err, world.ErrTooMany):
			s.Answer(world.TooMany) // and it is asked again
		case err != nil:
			s.Answer(world.Malformed)
		}
		return
	case wishKick:
		p := r.player()
		if _, ok := s.Seat(p); !ok {
			s.Answer(world.Absent)
			return
		}
		s.Kick(p, r.b)
		s.Leave(p) // at once: else it could come back at another server before its connection has ended
		x.delist(p)
		return
	}
	s.Answer(world.Malformed)
}

// admit lets a player in, under a name that nobody has, or has it back whose ticket this is.
func (x *shared) admit(from world.Origin, j *joinWish) {
	s := x.room.sim
	if j.session.Serial != (world.Serial{}) {
		if again, spent := s.Spent(j.session.Serial); again != 0 {
			x.readmit(again, world.TokenHash{}, j.session.Token)
			return
		} else if spent {
			s.Answer(world.Denied)
			return
		}
	}
	if p, there := x.accountOf(j); there { // at another server: an account is in one place, and the newest has it
		x.readmit(p, world.TokenHash{}, world.TokenHash{})
		return
	}
	if s.Players() >= x.room.settings.MaxPlayers && !x.makeRoom(from) {
		s.Answer(world.TooMany)
		return
	}
	name := fitName(j.name)
	if name == "" {
		name = fmt.Sprintf("guest-%d", s.NextPlayer())
	}
	free := name
	for i := 2; x.names[account.NameKey(free)] > 0; i++ {
		free = fmt.Sprintf("%s#%d", name, i)
	}
	id, err := s.Join(free)
	if err != nil {
		s.Answer(world.TooMany)
		return
	}
	x.enlist(id, free)
	if j.account {
		s.Known(id)
	} else {
		s.Admit(id, j.session)
	}
}

// accountOf returns the player who is there already of an account that comes in.
func (x *shared) accountOf(j *joinWish) (world.PlayerID, bool) {
	key := account.NameKey(fitName(j.name))
	if !j.account || x.names[key] == 0 {
		return 0, false
	}
	for p, name := range x.roster { // one at most: guests have tokens
		if at, ok := x.room.sim.Seat(p); name == key && ok && at.Known && len(x.room.sim.Tokens(p)) == 0 {
			return p, true
		}
	}
	return 0, false
}

// makeRoom gives up the longest-away guest for a newcomer.
func (x *shared) makeRoom(newcomer world.Origin) bool {
	s, first, since := x.room.sim, world.PlayerID(0), uint64(0)
	for p := range s.World().Players() {
		if at, ok := s.Seat(p.ID); ok && at.Away && len(s.Tokens(p.ID)) > 0 && (first == 0 || at.Since < since) {
			first, since = p.ID, at.Since
		}
	}
	if first == 0 {
		return false
	}
	s.From(world.Origin{}) // it has not asked for this
	s.Leave(first)
	return s.From(newcomer)
}

// readmit has a player back: by a token, or without one by what the server that asks has looked at.
func (x *shared) readmit(p world.PlayerID, used, token world.TokenHash) {
	s := x.room.sim
	if used != (world.TokenHash{}) {
		id, ok := s.Use(used)
		if !ok {
			s.Answer(world.Absent)
			return
		}
		p = id
	}
	if _, ok := s.Seat(p); !ok {
		s.Answer(world.Absent)
		return
	}
	s.Back(p)
	if token != (world.TokenHash{}) {
		s.Admit(p, world.Session{Token: token})
	}
}

// dismissPlayer has a player away, or leave, if the connection that speaks is still the player's.
func (x *shared) dismissPlayer(kind wishKind, p world.PlayerID, since uint64) {
	s := x.room.sim
	at, ok := s.Seat(p)
	switch {
	case !ok || since != 0 && at.Since != since:
		s.Answer(world.Absent)
	case kind == wishAway:
		s.Away(p)
	default:
		s.Leave(p)
		x.delist(p)
	}
}

// enlist and delist keep the names of players who are there: also those of the entry that is being made.
func (x *shared) enlist(p world.PlayerID, name string) {
	if _, ok := x.roster[p]; ok {
		return
	}
	key := account.NameKey(name)
	x.roster[p] = key
	x.names[key]++
}

func (x *shared) delist(p world.PlayerID) {
	key, ok := x.roster[p]
	if !ok {
		return
	}
	delete(x.roster, p)
	if x.names[key]--; x.names[key] == 0 {
		delete(x.names, key)
	}
}
