package client

import (
	"parley/play/picture"
	"parley/world"
)

// Event is something that happened, and that no entity shows. Own says that it is about this player.
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
