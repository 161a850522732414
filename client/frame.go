package client

import (
	"iter"

	"parley/play/picture"
	"parley/world"
)

// Frame is what is to be drawn at a moment. It is valid until the next one.
type Frame struct {
	// Tick is the tick of the server at which others are drawn, a little in the past. It never falls while the player is in one room.
	Tick float64

	// OwnTick is the tick at which the own entity is drawn, ahead of the server. It is 0 if the own entity is not predicted.
	OwnTick float64

	picture *picture.Frame
	events  []Event
}

// World returns the entities as they are to be drawn, and the terrain. It is for reading: what is changed in it is lost.
func (f *Frame) World() *world.World { return f.picture.World() }

// Own returns the player's own entity, 0 if it has none at the moment.
func (f *Frame) Own() world.ID { return f.picture.Own() }

// Name returns the name of the player whose own entity this is, "" if nobody's or not known. A stranger has chosen it, as it has the texts of
// events: it may have control characters, which a terminal obeys.
func (f *Frame) Name(id world.ID) string { return f.picture.Name(id) }

// Events iterates over what has happened since the last frame.
func (f *Frame) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for i := range f.events {
			if !yield(f.events[i]) {
				return
			}
		}
	}
}

// Own returns the player's own entity as it is to be drawn: it moves the moment it is steered. ok is false while the player has no
// entity of kind T.
func Own[T any](f *Frame) (own *T, ok bool) {
	own = world.Get[T](f.World(), f.Own())
	return own, own != nil
}

// All iterates over the entities of kind T that are in sight, the own one included.
func All[T any](f *Frame) iter.Seq2[world.ID, *T] { return world.All[T](f.World()) }

// Get returns the entity of kind T, nil if it is not in sight or of another kind.
func Get[T any](f *Frame, id world.ID) *T { return world.Get[T](f.World(), id) }
