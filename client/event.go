package client

import (
	"parley/play/picture"
	"parley/world"
)

// Event is something that happened, and that no entity shows:
//
//	Kind   EventKind
//	Name   string         // of the player
//	Text   string         // what was said, or why
//	Entity world.ID       // the player's own entity, in the frame's world; 0 if there is none, or if it is not in sight
//	Own    bool           // it is about this player. Of Said only the Name tells
//	Tick   uint64         // of Acted, if the dialect tells; else 0
//	Action *world.Action  // of Acted: As returns it as the game's struct
//	Params []world.Value  // of Acted: one for each of Action.Fields
type Event = picture.Event

// EventKind is the kind of an Event.
type EventKind = picture.EventKind

// The kinds of events.
const (
	Said        = picture.Said        // somebody said something: Name and Text
	Acted       = picture.Acted       // an entity in sight did something: Entity, and As for what
	Here        = picture.Here        // a player was there when this one came: Name and Entity
	Joined      = picture.Joined      // a player has come: Name and Entity
	Left        = picture.Left        // a player has left: Name and Entity
	Away        = picture.Away        // a player's connection is lost. The own one comes back by itself: Text says why it was lost
	Back        = picture.Back        // a player is there again. Of the own one Text is the dialect
	Ended       = picture.Ended       // this player is out of the game: Text says why. It is the last event
	Unpredicted = picture.Unpredicted // the game's Step has failed on this client, which predicts no more: Text says why
)

// As returns the action of an Acted event, if it is T. An entity in it is an ID of the frame's world.
func As[T any](ev Event) (v T, ok bool) {
	if ev.Kind != Acted {
		return v, false
	}
	return world.FromParams[T](ev.Action, ev.Params)
}
