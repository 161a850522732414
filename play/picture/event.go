package picture

import (
	"time"

	"parley/play/message"
	"parley/world"
)

// EventKind is the kind of an Event.
type EventKind uint8

const (
	// Said is a line of chat: Name and Text.
	Said EventKind = iota + 1
	// Acted is an action that an entity in sight has done: Entity, Action, Params, and Name if it is known.
	Acted
	// Here is a player who was there when this client came: Name and Entity.
	Here
	// Joined and Left are players who have come and gone: Name and Entity.
	Joined
	Left
	// Away and Back are players whose connection was lost, and who are there again: Name and Entity.
	Away
	Back
	// Unpredicted means that the game's Step has failed on this client, which predicts nothing any more: Text says why. It comes once.
	Unpredicted
	// Ended means that the own player is out of the game: Text says why. The owner of the Core makes it, as it does Away and Back of the
	// own player.
	Ended
)

var eventNames = [...]string{"unset", "said", "acted", "here", "joined", "left", "away", "back", "unpredicted", "ended"}

// String returns the kind's name.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return eventNames[0]
}

// Event is something that happened, and that no entity shows.
type Event struct {
	Kind   EventKind
	Name   string
	Text   string
	Entity world.ID // in the frame's world; 0 if there is none, or if it may not be seen
	Own    bool     // it is about the own player. Of Said only the Name tells
	Tick   uint64   // of Acted, if the dialect tells; else 0
	Action *world.Action
	Params []world.Value // of Acted: one for each of Action.Fields. An Entity is an ID of the frame's world
}

// note queues an event.
func (c *Core) note(ev Event) {
	if len(c.events) >= maxEvents {
		c.events[0] = Event{}
		c.events = c.events[1:]
		c.stats.EventsLost++
	}
	c.events = append(c.events, ev)
}

// PollEvent returns the next event. A player's coming waits until the own entity is known: only that tells the own player from another who
// has the name that this one wanted. A player may have none, so that it waits for a second of ticks at most, and for unknownOwn.
func (c *Core) PollEvent() (ev Event, ok bool) {
	if len(c.events) == 0 {
		return ev, false
	}
	ev = c.events[0]
	if wire, there := c.roster[ev.Name]; there && (ev.Kind == Here || ev.Kind == Joined) {
		if c.connected && (c.own == 0 || c.ownEpoch != c.epoch) && c.mayLearnOwn() {
			return Event{}, false
		}
		ev.Entity, ev.Own = c.id(wire), c.isOwn(ev.Name, wire)
	}
	c.events[0] = Event{}
	if c.events = c.events[1:]; len(c.events) == 0 {
		c.events = nil
	}
	return ev, true
}

// mayLearnOwn reports whether the server may yet tell which entity is the own one.
func (c *Core) mayLearnOwn() bool {
	return c.now.Sub(c.upSince) < unknownOwn && (c.since == 0 || c.newest < c.since+uint64(time.Second/c.period))
}

// said notes a line of chat, if it could be read.
func (c *Core) said(name, text []byte, ok bool) {
	if ok {
		c.note(Event{Kind: Said, Name: cut(name, maxName), Text: cut(text, maxText)})
	}
}

// acted notes an action.
func (c *Core) acted(wire uint16, tick uint64, a *world.Action, params []world.Value) {
	list := append([]world.Value(nil), params...)
	for i := range list {
		if list[i].Type == world.Entity {
			list[i] = world.UintValue(world.Entity, uint64(c.id(uint16(list[i].Uint()))))
		}
	}
	own := wire != 0 && wire == c.own
	c.note(Event{Kind: Acted, Entity: c.id(wire), Own: own, Tick: tick, Action: a, Params: list, Name: c.names[wire]})
}

// member notes what was told of a player. The name says which player it is; its entity may come later.
func (c *Core) member(m message.Member) {
	name := cut(m.Name, maxName)
	was, known := c.roster[name]
	if m.What == message.MemberLeft && !known || !known && len(c.roster) >= maxNames {
		return
	}
	if known && c.names[was] == name {
		delete(c.names, was)
	}
	delete(c.roster, name)
	if m.What != message.MemberLeft {
		c.roster[name] = m.Entity
		if m.Entity != 0 {
			c.names[m.Entity] = name
		}
	}
	c.renamed = true
	own := c.isOwn(name, m.Entity)
	kind := memberEvents[m.What]
	if own && (kind == Away || kind == Back) { // its owner knows
		return
	}
	if kind != Here || !known {
		c.note(Event{Kind: kind, Name: name, Entity: c.id(m.Entity), Own: own})
	}
}

// isOwn reports whether a player is this one. The server may have given this one another name than the wanted one, which is then another's. Until
// a new connection has told the own number, that of the one before may be another's, and the name is what counts.
func (c *Core) isOwn(name string, wire uint16) bool {
	if c.own != 0 && wire != 0 && c.ownEpoch == c.epoch {
		return wire == c.own
	}
	return name == c.named
}

var memberEvents = [...]EventKind{
	message.MemberHere: Here, message.MemberJoined: Joined, message.MemberLeft: Left, message.MemberAway: Away, message.MemberBack: Back,
}

// members reads those of a message, one behind the other.
func (c *Core) members(b []byte, o world.Order) {
	for len(b) > 0 {
		m, rest, ok := message.ParseMember(b, o)
		if !ok {
			return
		}
		c.member(m)
		b = rest
	}
}

// cut returns a text of at most n bytes.
func cut[T string | []byte](text T, n int) string { return string(text[:min(len(text), n)]) }
