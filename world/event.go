package world

// An EventKind says what an event tells.
type EventKind uint8

// The kinds of events.
const (
	// PlayerJoined and PlayerLeft tell that a player is in the world, or not any
	// more, and which entity is or was its own.
	PlayerJoined EventKind = iota + 1
	PlayerLeft

	// ActionDone tells that an action was done at Tick, which may be in the
	// past: everyone who sees Entity is told.
	ActionDone

	// EntityNamed tells one player that what it called Temp is Wire: realm's
	// entity_id_change.
	EntityNamed

	// InputRefused tells one player that something it asked for was not done,
	// and the gateway to correct it: View.Refused sends the truth of Entity. It
	// may come after ActionDone if something that came late made it impossible.
	InputRefused

	// InputAccepted tells that a Steer with a tag was done.
	InputAccepted
)

var eventNames = [...]string{"unset", "player joined", "player left", "action done", "entity named", "input refused", "input accepted"}

func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return eventNames[0]
}

// An Event is what a tick has brought that no view shows.
type Event struct {
	Kind   EventKind
	Player PlayerID // whose doing it is
	Tick   uint64   // when it took place
	Entity ID       // the actor: the player's own entity; of InputRefused and InputAccepted of a Steer the one it was for
	Wire   uint16   // the number of Entity (of EntityNamed: of what was created), 0 if no one was told of it
	Name   string   // of PlayerJoined and PlayerLeft

	Input  InputKind // of InputRefused
	Reason Reason
	Tag    uint32 // what the gateway gave with the input
	Temp   uint16 // of EntityNamed

	Action *Action          // of ActionDone and of refused actions
	Params [MaxParams]Value // of ActionDone, one for each of Action.Fields; an Entity as its number
}

// Events returns what the last Advance has brought. It is good until the next.
func (s *Sim) Events() []Event { return s.events }

// tell adds an event about an input. The number of Entity is filled in when
// the tick is published.
func (s *Sim) tell(kind EventKind, in *Input, entity ID) {
	e := Event{Kind: kind, Player: in.Player, Tick: in.Tick, Entity: entity, Name: in.Name, Input: in.Kind, Reason: in.outcome, Tag: in.tag, Action: in.Action}
	switch kind {
	case ActionDone:
		e.Params = *in.params
	case EntityNamed:
		e.Temp = in.temp
	}
	s.events = append(s.events, e)
}

// number fills in what clients know entities by.
func (s *Sim) number() {
	for i := range s.events {
		e := &s.events[i]
		e.Wire = s.book.tell(e.Entity)
		if e.Kind != ActionDone {
			continue
		}
		for j := range e.Action.Fields {
			if e.Params[j].Type == Entity {
				e.Params[j].bits = uint64(s.book.tell(ID(e.Params[j].bits)))
			}
		}
	}
}
