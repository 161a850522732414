package gateway

import (
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

// enter has a player come into the world, as soon as its ticket is spent if it has one. A name that another has gets a number;
// none is a guest's.
func (h *Hub) enter(s *Seat, name string) {
	if s.view != nil || s.left || s.entering {
		return
	}
	err := h.mayEnter(s)
	if err == nil {
		err = h.reserve(s)
	}
	if err == nil && s.pass != nil {
		err = h.gate.spend(s)
	}
	if err == nil {
		s.counted = s.from.IsValid() && h.crowd.Enter(s.from)
	}
	if err != nil || s.pass == nil {
		h.seat(s, name, err)
		return
	}
	s.entering = true
	h.entering++
	h.admit()
}

// admit lets in those whose tickets are spent by now.
func (h *Hub) admit() {
	if h.entering == 0 {
		return
	}
	h.verdicts = h.gate.settled(h.verdicts[:0])
	for _, v := range h.verdicts {
		v.seat.entering = false
		h.entering--
		if !v.seat.left {
			h.seat(v.seat, v.name, v.err)
			continue
		}
		if v.err == nil { // spent, and it has let nobody in
			h.gate.unspend(v.seat)
		}
	}
	clear(h.verdicts)
}

// seat makes somebody a player or a spectator, or has it told why it is neither.
func (h *Hub) seat(s *Seat, name string, err error) {
	h.seats[s.dialect.Name()] = append(h.seats[s.dialect.Name()], s)
	var id world.PlayerID
	if err == nil && !s.spectator {
		if name = fitName(name); !s.account && account.Reserved(name) {
			name = ""
		}
		name = h.freeName(name)
		s.reserved = false // the world has it from here on
		id, err = h.sim.JoinAs(name, s.number)
	}
	s.view = h.sim.NewView(id, s.dialect.view())
	if err != nil {
		s.kicked = err.Error()
	}
	if id == 0 {
		return
	}
	if name == "" {
		name = h.freeName(fmt.Sprintf("guest-%d", id))
	}
	s.player = &Player{ID: id, Name: name, Dialect: s.dialect.Name(), seat: s}
	h.players[id] = s.player
	h.names[account.NameKey(name)]++
	h.log.Info("joined", "player", id, "name", name, "proto", s.dialect.Name())
}

// mayEnter returns why somebody is not let in: a Refusal.
func (h *Hub) mayEnter(s *Seat) error {
	switch {
	case h.behind > shedBehind && h.now.Sub(h.found) > shedFor:
		h.stats.Shed++
		return RefusedBusy
	case s.from.IsValid() && !h.hasRoom(s.from):
		h.stats.Crowded++
		return RefusedCrowd
	case s.spectator:
		return nil
	case len(h.players)+h.entering >= h.cfg.MaxPlayers:
		return RefusedFull
	case h.gate.Wanted() && s.pass == nil && !s.account:
		return RefusedGuest
	}
	return nil
}

// room returns how many more players there may be.
func (h *Hub) room() int { return h.cfg.MaxPlayers - len(h.players) - h.entering }

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
func (h *Hub) reserve(s *Seat) error {
	if s.spectator || s.number != 0 {
		return nil
	}
	if s.number = h.sim.Reserve(); s.number == 0 {
		h.stats.Numberless++
		return RefusedFull
	}
	s.reserved = true
	return nil
}

// giveBack gives back the number of a seat that has left and that no player has joined with. Before that its connection may
// still be known by it.
func (h *Hub) giveBack(s *Seat) {
	if s.reserved {
		h.sim.Release(s.number)
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
func (h *Hub) freeName(name string) string {
	if name == "" {
		return ""
	}
	free := name
	for i := 2; h.names[account.NameKey(free)] > 0; i++ {
		free = fmt.Sprintf("%s#%d", name, i) // no account has a name like that
	}
	return free
}

// leave takes a player out of the world.
func (h *Hub) leave(s *Seat) {
	if s.left {
		return
	}
	s.left = true
	list := h.seats[s.dialect.Name()]
	if i := slices.Index(list, s); i >= 0 {
		h.seats[s.dialect.Name()] = slices.Delete(list, i, i+1)
	}
	if s.view != nil {
		s.view.Close()
	}
	if s.counted {
		h.crowd.Leave(s.from)
	}
	h.giveBack(s)
	p := s.player
	if p == nil {
		return
	}
	h.sim.Leave(p.ID)
	delete(h.players, p.ID)
	key := account.NameKey(p.Name)
	if h.names[key]--; h.names[key] == 0 {
		delete(h.names, key)
	}
	h.log.Info("left", "player", p.ID, "name", p.Name, "proto", p.Dialect)
}

// say has all read what a player said, if it may.
func (h *Hub) say(s *Seat, text []byte) world.Reason {
	switch {
	case len(text) == 0 || len(text) > maxChat || !utf8.Valid(text):
		h.stats.DroppedChat++
		return world.Malformed
	case !s.chat.spend(1):
		h.stats.DroppedChat++
		return world.TooMany
	}
	h.stats.Chat++
	h.said = append(h.said, Line{Player: s.player, Name: s.player.Name, Entity: h.sim.Wire(h.entityOf(s.player)), Text: text})
	return world.Accepted
}

// Broadcast sends a line of chat from the server to all players. It refuses a text that is empty, over maxChat or not UTF-8.
// Call it in Do.
func (h *Hub) Broadcast(text string) error {
	switch {
	case text == "":
		return errors.New("the text is empty")
	case len(text) > maxChat:
		return fmt.Errorf("a text of %d bytes: the limit is %d; split it", len(text), maxChat)
	case !utf8.ValidString(text):
		return errors.New("the text is not UTF-8")
	}
	h.said = append(h.said, Line{Name: message.ServerName, Text: []byte(text)})
	return nil
}

// Kick removes a player and tells it why. Call it in Do.
func (h *Hub) Kick(id world.PlayerID, why string) bool {
	p := h.players[id]
	if p == nil {
		return false
	}
	p.seat.kicked = why
	if why == "" {
		p.seat.kicked = "kicked"
	}
	return true
}

// Players returns the players in the game, in the order of their IDs. Call it in Do.
func (h *Hub) Players() []*Player {
	list := make([]*Player, 0, len(h.players))
	for _, p := range h.players {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *Player) int { return int(a.ID) - int(b.ID) })
	return list
}

// entityOf returns a player's own entity, 0 if it has none.
func (h *Hub) entityOf(p *Player) world.ID {
	wp, _ := h.sim.World().Player(p.ID)
	return wp.Entity
}
