package reliable

// spares are things of one kind that wait to be lent again. The zero value has none.
//
// A burst makes many of them, which nobody needs afterwards: 16 MiB would be 4 KiB for
// each of 4,000 connections. So from time to time those go that were of no use since the last
// time: as many as have always been there, but for as many as came and went. What is lent
// rises and falls by chance; without those the next rise would make again what the last fall let go of.
type spares[T any] struct {
	list        []T
	least, most int32 // that there were since the last trim
	swing       int32 // how many came and went, more in former times counting less and less
}

// take returns the one that was given last, false if there is none.
func (s *spares[T]) take() (thing T, ok bool) {
	last := len(s.list) - 1
	if last < 0 {
		return thing, false
	}
	thing = s.list[last]
	s.list = s.list[:last]
	s.least = min(s.least, int32(last))
	return thing, true
}

func (s *spares[T]) give(thing T) {
	s.list = append(s.list, thing)
	s.most = max(s.most, int32(len(s.list)))
}

// trim lets go of those of no use and returns how many. Half of them stay, as the next burst
// may come, and those are little.
func (s *spares[T]) trim() int {
	n := 0
	least := min(int(s.least), len(s.list))
	s.swing = max(s.most-int32(least), s.swing-s.swing/4)
	if idle := least - int(s.swing); idle > fewSpares {
		n = idle / 2
		s.drop(n)
	}
	s.least, s.most = int32(len(s.list)), int32(len(s.list))
	return n
}

// drop lets go of the n oldest, and of room for many more than are left.
func (s *spares[T]) drop(n int) {
	left := s.list[n:]
	if room := cap(s.list); room > keptRoom && room > 4*(len(left)+fewSpares) {
		s.list = append(make([]T, 0, len(left)+fewSpares), left...)
		return
	}
	clear(s.list[copy(s.list, left):])
	s.list = s.list[:len(left)]
}
