package world

import (
	"iter"
	"slices"
)

// A Player is someone who has joined.
type Player struct {
	ID     PlayerID
	Name   string
	Entity ID     // the player's own, which Own names; 0 if none
	Since  uint64 // the tick of joining
}

// players are those present, in order of their numbers.
type players struct{ list []Player }

func (ps *players) find(p PlayerID) (int, bool) {
	return slices.BinarySearchFunc(ps.list, p, func(have Player, p PlayerID) int { return int(have.ID) - int(p) })
}

func (ps *players) add(p Player) {
	if i, ok := ps.find(p.ID); !ok {
		ps.list = slices.Insert(ps.list, i, p)
	}
}

func (ps *players) remove(p PlayerID) {
	if i, ok := ps.find(p); ok {
		ps.list = slices.Delete(ps.list, i, i+1)
	}
}

func (ps *players) hash() uint64 {
	h := hash(0, uint64(len(ps.list)))
	for i := range ps.list {
		p := &ps.list[i]
		h = hashText(hash(hash(hash(h, uint64(p.ID)), uint64(p.Entity)), p.Since), p.Name)
	}
	return h
}

// Players walks the players present in order of their numbers.
func (w *World) Players() iter.Seq[Player] {
	return func(yield func(Player) bool) {
		for _, p := range w.players.list {
			if !yield(p) {
				return
			}
		}
	}
}

// Player returns a player who is present.
func (w *World) Player(p PlayerID) (Player, bool) {
	if i, ok := w.players.find(p); ok {
		return w.players.list[i], true
	}
	return Player{}, false
}

// Own makes an entity the player's own: the one that its client steers and looks
// around from. "A player's own entity keeps its id when it comes back to life"
// (design): put it elsewhere with Place rather than spawn another.
func (w *World) Own(p PlayerID, id ID) {
	if i, ok := w.players.find(p); ok {
		w.players.list[i].Entity = id
		w.SetOwner(id, p)
	}
}

// Avatar returns the player's own entity of kind T, or nil.
func Avatar[T any](w *World, p PlayerID) (ID, *T) {
	if i, ok := w.players.find(p); ok {
		id := w.players.list[i].Entity
		return id, Get[T](w, id)
	}
	return 0, nil
}
