package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/account"
	"parley/play/message"
	"parley/world"
)

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

// isLine reports whether a text may be a line of chat.
func isLine(text []byte) bool { return len(text) > 0 && len(text) <= maxChat && utf8.Valid(text) }

// say has all read what a player said, if it may. In a shared room what becomes of it is known later: then the result is 0.
func (r *Room) say(s *Seat, tag uint32, text []byte) world.Reason {
	switch {
	case !isLine(text):
		r.hub.stats.DroppedChat++
		return world.Malformed
	case !s.chat.spend(1):
		r.hub.stats.DroppedChat++
		return world.TooMany
	}
	text, ok := r.edit(s, text)
	if !ok {
		r.hub.stats.DroppedChat++
		return world.Denied
	}
	if r.shared != nil {
		return r.shared.say(s, tag, text)
	}
	if why := r.sim.Chat(s.player.ID, text); why.Refused() {
		return why
	}
	r.hub.stats.Chat++
	r.said = append(r.said, Line{Player: s.player, Name: s.player.Name, Entity: r.sim.Wire(r.entityOf(s.player)),
		Text: bytes.Clone(text)}) // the inbox's is good for this turn, and a tick may have several
	return world.Accepted
}

// checkLine refuses a text that the server may not say: one that is empty, over maxChat or not UTF-8.
func checkLine(text string) error {
	switch {
	case text == "":
		return errors.New("the text is empty")
	case len(text) > maxChat:
		return fmt.Errorf("a text of %d bytes: the limit is %d; split it", len(text), maxChat)
	case !utf8.ValidString(text):
		return errors.New("the text is not UTF-8")
	}
	return nil
}

// Broadcast sends a line of chat from the server to the players of a room. Call it in Do.
func (r *Room) Broadcast(text string) error {
	if err := checkLine(text); err != nil {
		return err
	}
	r.tell(text)
	return nil
}

// tell has the server say a line.
func (r *Room) tell(text string) {
	r.do(func() {
		switch {
		case r.shared != nil && r.state == roomQuiet:
			r.shared.mustAsk(wishTell, 0, text)
		case r.state == roomQuiet: // else nobody is there
			r.sim.Say([]byte(text))
			r.said = append(r.said, Line{Name: message.ServerName, Text: []byte(text)})
		}
	})
}

// Kick removes a player and tells it why. Call it in Do.
func (r *Room) Kick(id world.PlayerID, why string) bool {
	p := r.players[id]
	if p == nil {
		return false
	}
	r.do(func() { r.kick(p, errors.New(cmp.Or(why, "kicked"))) })
	return true
}

// kick removes a player who is still there. One with a connection is told why, and leaves with it.
func (r *Room) kick(p *Player, why error) {
	if r.players[p.ID] != p || r.state == roomEnded {
		return
	}
	if r.shared != nil {
		r.shared.mustAsk(wishKick, p.ID, why.Error())
		return
	}
	r.sim.Kick(p.ID, []byte(why.Error()))
	r.logPlayer("kicked", p, "reason", why.Error())
	if p.seat == nil {
		r.remove(p)
	} else {
		p.seat.kicked = why
	}
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
