package gateway

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"parley/account"
	"parley/internal/admission"
	"parley/play/message"
	"parley/world"
)

// enter has a player come into the room that its pass leads to, as soon as its ticket is spent if it has one. A name that
// another has gets a number; none is a guest's.
func (h *Hub) enter(s *Seat, name string) {
	if s.room != nil || s.left || s.kicked != "" {
		return
	}
	r, err := h.roomFor(s)
	if err != nil {
		h.refuse(s, err)
		return
	}
	r.do(func() { r.enter(s, name) })
}

// roomFor returns the room that somebody wants to enter.
func (h *Hub) roomFor(s *Seat) (*Room, error) {
	if r := h.rooms[MainRoom]; r != nil {
		return r, nil
	}
	return nil, RefusedRoom
}

// refuse has somebody told why it is not let in, with the next visit.
func (h *Hub) refuse(s *Seat, why error) {
	s.kicked = why.Error()
	h.refused = append(h.refused, s)
}

// enter lets somebody in, or has it told why not. The room is quiet.
func (r *Room) enter(s *Seat, name string) {
	h := r.hub
	if s.left || r.state == roomEnded {
		return
	}
	err := r.mayEnter(s)
	if err == nil {
		err = r.reserve(s)
	}
	if err == nil && s.pass != nil {
		err = h.gate.spend(s)
	}
	if err != nil {
		r.giveBack(s)
		h.refuse(s, err)
		return
	}
	s.room = r
	s.counted = s.from.IsValid() && h.crowd.Enter(s.from)
	r.wake()
	if s.pass == nil {
		r.seat(s, name)
		return
	}
	s.entering = true
	r.entering++
	h.spending++
	h.settleTickets()
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
	case s.left:
		if v.err == nil { // spent, and it has let nobody in
			r.hub.gate.unspend(s)
		}
	case v.err != nil:
		r.unseat(s)
		r.hub.refuse(s, v.err)
	default:
		r.seat(s, v.name)
	}
}

// seat makes somebody a player or a spectator.
func (r *Room) seat(s *Seat, name string) {
	var id world.PlayerID
	if !s.spectator {
		if name = fitName(name); !s.account && account.Reserved(name) {
			name = ""
		}
		if name == "" {
			name = fmt.Sprintf("guest-%d", r.sim.NextPlayer())
		}
		name = r.freeName(name)
		s.reserved = false // the world has it from here on
		var err error
		if id, err = r.sim.JoinAs(name, s.number); err != nil {
			r.unseat(s)
			r.hub.refuse(s, RefusedFull)
			return
		}
	}
	s.side = r.side(s.dialect)
	s.side.seats = append(s.side.seats, s)
	s.view = r.sim.NewView(id, s.dialect.view())
	if id == 0 {
		return
	}
	s.player = &Player{ID: id, Name: name, Dialect: s.dialect.Name(), seat: s}
	r.players[id] = s.player
	r.hub.players++
	r.names[account.NameKey(name)]++
	r.hub.log.Info("joined", "player", id, "name", name, "room", r.Name(), "proto", s.dialect.Name())
}

// mayEnter returns why somebody is not let in: a Refusal.
func (r *Room) mayEnter(s *Seat) error {
	h := r.hub
	switch {
	case r.behind > shedBehind && r.now.Sub(r.found) > shedFor:
		h.stats.Shed++
		return RefusedBusy
	case s.from.IsValid() && !h.hasRoom(s.from):
		h.stats.Crowded++
		return RefusedCrowd
	case s.spectator:
		return nil
	case r.room() <= 0:
		return RefusedFull
	case h.gate.Wanted() && s.pass == nil && !s.account:
		return RefusedGuest
	}
	return nil
}

// room returns how many more players there may be.
func (r *Room) room() int {
	return min(r.settings.MaxPlayers-len(r.players)-r.entering, r.hub.cfg.MaxPlayers-r.hub.players-r.hub.spending)
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
func (h *Hub) hasRoom(from netip.Addr) bool {
	if h.cfg.PerAddress >= 0 && h.crowd.Of(from) >= h.cfg.PerAddress {
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

// giveBack gives back the number of a seat that has left and that no player has joined with. Before that its connection may
// still be known by it.
func (r *Room) giveBack(s *Seat) {
	if s.reserved {
		r.sim.Release(s.number)
		s.number, s.reserved = 0, false
	}
}

// fitName returns a name as others are to see it, "" if it is none or nothing of it is seen. It comes before all that judges
// names: what is cut off would make another name of it.
func fitName(name string) string {
	if !utf8.ValidString(name) {
		return ""
	}
	name = strings.TrimSpace(name)
	for len(name) > maxName {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	if account.NameKey(name) == "" {
		return ""
	}
	return strings.TrimSpace(name)
}

// freeName returns a name that no one has. The name fits.
func (r *Room) freeName(name string) string {
	if name == "" {
		return ""
	}
	free := name
	for i := 2; r.names[account.NameKey(free)] > 0; i++ {
		free = fmt.Sprintf("%s#%d", name, i) // no account has a name like that
	}
	return free
}

// leave takes a player out of the world.
func (r *Room) leave(s *Seat) {
	if s.left {
		return
	}
	s.left = true
	if s.side != nil {
		if i := slices.Index(s.side.seats, s); i >= 0 {
			s.side.seats = slices.Delete(s.side.seats, i, i+1)
		}
	}
	if s.view != nil {
		s.view.Close()
	}
	if len(s.held) > 0 { // nobody waits for what becomes of it
		s.held = nil
		r.holders = slices.DeleteFunc(r.holders, func(o *Seat) bool { return o == s })
	}
	r.unseat(s)
	p := s.player
	if p == nil {
		return
	}
	r.sim.Leave(p.ID)
	delete(r.players, p.ID)
	r.hub.players--
	key := account.NameKey(p.Name)
	if r.names[key]--; r.names[key] == 0 {
		delete(r.names, key)
	}
	r.hub.log.Info("left", "player", p.ID, "name", p.Name, "room", r.Name(), "proto", p.Dialect)
}

// unseat gives back what a seat has taken before anybody sat in it.
func (r *Room) unseat(s *Seat) {
	if s.counted {
		s.counted = false
		r.hub.crowd.Leave(s.from)
	}
	r.giveBack(s)
}

// say has all read what a player said, if it may.
func (r *Room) say(s *Seat, text []byte) world.Reason {
	switch {
	case len(text) == 0 || len(text) > maxChat || !utf8.Valid(text):
		r.hub.stats.DroppedChat++
		return world.Malformed
	case !s.chat.spend(1):
		r.hub.stats.DroppedChat++
		return world.TooMany
	}
	r.hub.stats.Chat++
	r.said = append(r.said, Line{Player: s.player, Name: s.player.Name, Entity: r.sim.Wire(r.entityOf(s.player)), Text: text})
	return world.Accepted
}

// Broadcast sends a line of chat from the server to the players of a room. It refuses a text that is empty, over maxChat or not
// UTF-8. Call it in Do.
func (r *Room) Broadcast(text string) error {
	switch {
	case text == "":
		return errors.New("the text is empty")
	case len(text) > maxChat:
		return fmt.Errorf("a text of %d bytes: the limit is %d; split it", len(text), maxChat)
	case !utf8.ValidString(text):
		return errors.New("the text is not UTF-8")
	}
	r.do(func() { r.said = append(r.said, Line{Name: message.ServerName, Text: []byte(text)}) })
	return nil
}

// Kick removes a player and tells it why. Call it in Do.
func (r *Room) Kick(id world.PlayerID, why string) bool {
	p := r.players[id]
	if p == nil {
		return false
	}
	p.seat.kicked = cmp.Or(why, "kicked")
	return true
}

// Players returns the players of the room, in the order of their IDs. Call it in Do.
func (r *Room) Players() []*Player {
	list := make([]*Player, 0, len(r.players))
	for _, p := range r.players {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *Player) int { return int(a.ID) - int(b.ID) })
	return list
}

// entityOf returns a player's own entity, 0 if it has none.
func (r *Room) entityOf(p *Player) world.ID {
	wp, _ := r.sim.World().Player(p.ID)
	return wp.Entity
}
