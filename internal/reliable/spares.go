package reliable

// spares are things of one kind that wait to be lent again. The zero value has none.
//
// A burst makes many of them, which nobody needs afterwards: 16 MiB would be 4 KiB for
// each of 4,000 connections. So from time to time those go that were of no use since the last
// time: as many as have always been there.
type spares[T any] struct {
	list  []T
	least int // that there were since the last trim
}

// take returns the one that was given last, false if there is none.
func (s *spares[T]) take() (thing T, ok bool) {
	last := len(s.list) - 1
	if last < 0 {
		return thing, false
	}
	thing = s.list[last]
	s.list = s.list[:last]
	s.least = min(s.least, last)
	return thing, true
}

func (s *spares[T]) give(thing T) { s.list = append(s.list, thing) }

// trim lets go of those of no use and returns how many. Half of them stay, as the next burst
// may come, and those are little.
func (s *spares[T]) trim() int {
	n := 0
	if least := min(s.least, len(s.list)); least > fewSpares {
		n = least / 2
		s.drop(n)
	}
	s.least = len(s.list)
	return n
}

// drop lets go of the n oldest, and of room for many more than are left.
func (s *spares[T]) drop(n int) {
	left := s.list[n:]
	if cap(s.list) > 4*(len(left)+fewSpares) {
		s.list = append(make([]T, 0, len(left)+fewSpares), left...)
		return
	}
	clear(s.list[copy(s.list, left):])
	s.list = s.list[:len(left)]
}
