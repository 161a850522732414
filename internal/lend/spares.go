package lend

const (
	// fewSpares is how many unused spares always stay.
	fewSpares = 16

	// keptRoom is the number of spares that a list always has room for: 48 KiB of slices.
	keptRoom = 2048

	// patience is how many calls of Trim, at least, remember how many spares were once needed. With
	// 2,000 players at 20 Hz that is seven seconds: a pause of the collector or of the machine leaves
	// packets of all players in flight, and the next pause comes sooner than that.
	patience = 16
)

// Spares is a list of unused slices or structs of one kind, kept to be lent again. The zero value is
// empty.
//
// A burst makes many that nobody needs afterwards: 16 MiB would be 4 KiB for each of 4,000 connections.
// So Trim drops spares that were not used since the last Trim: the least number that there was in that
// time, minus a margin. The margin is how much the number varied. Without it, chance alone would have
// spares dropped and made again.
type Spares[T any] struct {
	list         []T
	least, most  int32 // number of spares since the last Trim
	swing, older int32 // the greatest most minus least of the last calls of Trim, and of the patience before these
	trims        int32 // how many calls swing is of
}

// Len returns the number of spares.
func (s *Spares[T]) Len() int { return len(s.list) }

// Take returns the spare that was given last, false if there is none.
func (s *Spares[T]) Take() (thing T, ok bool) {
	last := len(s.list) - 1
	if last < 0 {
		return thing, false
	}
	thing = s.list[last]
	s.list = s.list[:last]
	s.least = min(s.least, int32(last))
	return thing, true
}

// Give adds a spare. The caller must not use it afterwards.
func (s *Spares[T]) Give(thing T) {
	s.list = append(s.list, thing)
	s.most = max(s.most, int32(len(s.list)))
}

// Trim drops unused spares and returns how many. Half of the unused ones stay for the next burst.
func (s *Spares[T]) Trim() int {
	n := 0
	least := min(int(s.least), len(s.list))
	s.swing = max(s.most-int32(least), s.swing)
	if idle := least - int(max(s.swing, s.older)); idle > fewSpares {
		n = idle / 2
		s.drop(n)
	}
	if s.trims++; s.trims == patience {
		s.swing, s.older, s.trims = 0, s.swing, 0
	}
	s.least, s.most = int32(len(s.list)), int32(len(s.list))
	return n
}

// drop drops the n oldest spares. It shrinks a list that has room for many more than are left.
func (s *Spares[T]) drop(n int) {
	left := s.list[n:]
	if room := cap(s.list); room > keptRoom && room > 4*(len(left)+fewSpares) {
		s.list = append(make([]T, 0, len(left)+fewSpares), left...)
		return
	}
	clear(s.list[copy(s.list, left):])
	s.list = s.list[:len(left)]
}
