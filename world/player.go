package world

import (
	"iter"
	"slices"
)

// A Player is a player in the world.
type Player struct {
	ID     PlayerID
	Name   string
	Entity ID     // the player's own entity, set by Own; 0 if none
	Since  uint64 // the tick at which the player joined
}

// players are those present, in order of their numbers.
type players struct {
	list []Player

	// index is where in the list a number with these low bits was last put: a guess that find checks, so
	// that history copies the list alone, and none need be taken back. Its size is a power of 2, at which no two
	// of the list have the same low bits.
	index []uint16
}

func (ps *players) find(p PlayerID) (int, bool) {
	if n := len(ps.index); n > 0 {
		if i := int(ps.index[int(p)&(n-1)]); i < len(ps.list) && ps.list[i].ID == p {
			return i, true
		}
	}
	return 0, false
}

// search finds where a number is in the list, or would be.
func (ps *players) search(p PlayerID) (int, bool) {
	return slices.BinarySearchFunc(ps.list, p, func(have Player, p PlayerID) int { return int(have.ID) - int(p) })
}

func (ps *players) add(p Player) {
	if _, ok := ps.find(p.ID); ok {
		return
	}
	i, _ := ps.search(p.ID)
	ps.list = slices.Insert(ps.list, i, p)
	ps.reindex(i)
}

func (ps *players) remove(p PlayerID) {
	if i, ok := ps.find(p); ok {
		ps.list = slices.Delete(ps.list, i, i+1)
		ps.reindex(i)
	}
}

// load replaces the list by that of another tick.
func (ps *players) load(list []Player) {
	ps.list = append(ps.list[:0], list...)
	ps.reindex(0)
}

// reindex notes where those from i on are now.
func (ps *players) reindex(i int) {
	size := max(8, len(ps.index))
	for !ps.place(i, size) {
		size, i = 2*size, 0
	}
}

// place is reindex with an index of a size. It is false if two would have the same place.
func (ps *players) place(i, size int) bool {
	if len(ps.index) != size {
		ps.index = make([]uint16, size)
	}
	for ; i < len(ps.list); i++ {
		at := int(ps.list[i].ID) & (size - 1)
		if was := int(ps.index[at]); was != i && was < len(ps.list) && int(ps.list[was].ID)&(size-1) == at {
			return false
		}
		ps.index[at] = uint16(i)
	}
	return true
}

func (ps *players) hash() uint64 {
	h := hash(0, uint64(len(ps.list)))
	for i := range ps.list {
		p := &ps.list[i]
		h = hashText(hash(hash(hash(h, uint64(p.ID)), uint64(p.Entity)), p.Since), p.Name)
	}
	return h
}

// Players iterates over the players in the order of their IDs.
func (w *World) Players() iter.Seq[Player] {
	return func(yield func(Player) bool) {
		for _, p := range w.players.list {
			if !yield(p) {
				return
			}
		}
	}
}

// Player returns a player, if the player is in the world.
func (w *World) Player(p PlayerID) (Player, bool) {
	if i, ok := w.players.find(p); ok {
		return w.players.list[i], true
	}
	return Player{}, false
}

// Own makes an entity the player's own: its client steers that entity and sees the world
// from its position. To bring a player back to life, move its entity with Place rather
// than spawn another: the entity then keeps its ID.
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
