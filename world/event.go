package world

// An EventKind is the kind of an event.
type EventKind uint8

// The kinds of events.
const (
	// PlayerJoined and PlayerLeft say that a player has joined or left. Entity is or was
	// the player's own.
	PlayerJoined EventKind = iota + 1
	PlayerLeft

	// ActionDone says that an action was done at Tick, which may be in the past. Every
	// client that sees Entity is told.
	ActionDone

	// EntityNamed tells one player the number, Wire, of the entity that its client
	// called Temp: realm's entity_id_change.
	EntityNamed

	// InputRefused tells one player that an input was refused. The gateway then corrects
	// the client with View.Refused, which sends the true state of Entity. It may come
	// after ActionDone, if a late input made the action impossible.
	InputRefused

	// InputAccepted says that a Steer with a tag was done.
	InputAccepted

	// PlayerAway and PlayerBack say that a player's connection is gone, or that its client is there again.
	PlayerAway
	PlayerBack
)

var eventNames = [...]string{"unset", "player joined", "player left", "action done", "entity named", "input refused", "input accepted", "player away", "player back"}

func (k EventKind) String() string { return nameIn(eventNames[:], int(k)) }

// An Event is a result of a tick that no view shows.
type Event struct {
	Kind   EventKind
	Player PlayerID // the player who caused it
	Tick   uint64   // the tick at which it happened
	Entity ID       // the actor: the player's own entity. For InputRefused and InputAccepted of a Steer: the steered entity
	Wire   uint16   // the number of Entity (for EntityNamed: of the new entity), 0 if no client was told of it
	Name   string   // for PlayerJoined and PlayerLeft

	Input  InputKind // for InputRefused
	Reason Reason
	Tag    uint32 // the gateway's tag of the input
	Temp   uint16 // for EntityNamed

	Action *Action          // for ActionDone and refused actions
	Params [MaxParams]Value // for ActionDone: one for each of Action.Fields; an entity is given by its number
}

// Events returns the events of the last Advance. The slice is valid until the next
// Advance.
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
