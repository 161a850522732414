package picture

import "slices"

// spread is what was measured in the last seconds: how late ticks are, or how long inputs take. Numbers that come in quick succession are one,
// the greatest of them.
type spread struct {
	list   [spreadSize]measured // a ring
	first  int                  // the oldest of them
	n      int
	span   float64 // how long one counts, in seconds
	slot   float64 // those of so long are one
	sorted [spreadSize]float64
}

// newSpread returns one for numbers that come once a tick.
func newSpread(period float64) spread {
	s := spread{span: max(spreadSpan, leastSpan*period)}
	if slot := s.span / spreadSize; 2*period < slot {
		s.slot = slot
	}
	return s
}

type measured struct{ at, value float64 }

// expire forgets what is too old at a time.
func (s *spread) expire(at float64) {
	for s.n > 0 && at-s.list[s.first].at > s.span {
		s.first, s.n = (s.first+1)%spreadSize, s.n-1
	}
}

// shift adds to all numbers.
func (s *spread) shift(by float64) {
	for i := range s.list {
		s.list[i].value += by
	}
}

// add takes a number. It reports whether it is one of its own.
func (s *spread) add(at, value float64) bool {
	s.expire(at)
	if s.n > 0 {
		if last := s.recent(0); at-last.at < s.slot {
			last.value = max(last.value, value)
			return false
		}
	}
	if s.n == spreadSize {
		s.first, s.n = (s.first+1)%spreadSize, s.n-1
	}
	s.list[(s.first+s.n)%spreadSize] = measured{at, value}
	s.n++
	return true
}

// recent returns the newest number, or the i-th before it.
func (s *spread) recent(i int) *measured { return &s.list[(s.first+s.n-1-i)%spreadSize] }

// keep forgets all but the newest numbers.
func (s *spread) keep(n int) {
	if s.n > n {
		s.first, s.n = (s.first+s.n-n)%spreadSize, n
	}
}

// greatest returns the two greatest of the newest n.
func (s *spread) greatest(n int) (first, second float64) {
	first, second = s.recent(0).value, s.recent(0).value
	for i := 1; i < min(n, s.n); i++ {
		switch v := s.recent(i).value; {
		case v > first:
			first, second = v, first
		case v > second || i == 1:
			second = v
		}
	}
	return first, second
}

// sort returns the numbers in order, until the next call.
func (s *spread) sort() []float64 {
	for i := range s.n {
		s.sorted[i] = s.list[(s.first+i)%spreadSize].value
	}
	list := s.sorted[:s.n]
	slices.Sort(list)
	return list
}

// quantile returns the number below which a part of a sorted list is.
func quantile(list []float64, part float64) float64 {
	return list[min(int(part*float64(len(list))), len(list)-1)]
}
