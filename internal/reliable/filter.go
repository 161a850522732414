package reliable

// Filter remembers which of the last 8,192 numbers were received. The zero
// value has received none and takes any first number.
//
//	         newest−8191            newest          newest+8192
//	stale   |        known         |      may come      |   too far
//
// Numbers are unwrapped to 64 bits, so nothing here ever wraps.
type Filter struct {
	words [filterWords]uint64 // a ring of bits: number n is bit n of it
	next  uint64              // the newest received number plus one; 0 if none
}

const (
	// FilterSpan is how many numbers are remembered: "The receiver remembers
	// the last 8,192 numbers" (replica, Sequences).
	FilterSpan = 8192

	filterWords = FilterSpan / 64
)

// Sight is what a Filter knows of a number.
type Sight uint8

const (
	// Fresh: not received yet.
	Fresh Sight = iota + 1
	// Seen: received before.
	Seen
	// Stale: too old to know.
	Stale
	// TooFar: more than FilterSpan ahead of the newest.
	TooFar
)

// String returns the name of the sight.
func (s Sight) String() string {
	return nameOf(uint8(s), "unset", "fresh", "seen", "stale", "too far")
}

// Check says what is known of n and changes nothing.
func (f *Filter) Check(n uint64) Sight {
	switch {
	case f.next == 0:
		return Fresh
	case n >= f.next:
		if n-f.next >= FilterSpan {
			return TooFar
		}
		return Fresh
	case f.next-n > FilterSpan:
		return Stale
	case f.words[n/64%filterWords]&(1<<(n%64)) != 0:
		return Seen
	}
	return Fresh
}

// Mark notes that n was received. The caller has seen Check return Fresh.
func (f *Filter) Mark(n uint64) {
	if n >= f.next {
		f.advance(n)
	}
	f.words[n/64%filterWords] |= 1 << (n % 64)
}

// advance makes n the newest and forgets what leaves the span.
func (f *Filter) advance(n uint64) {
	if f.next == 0 || n-f.next >= FilterSpan {
		clear(f.words[:])
		f.next = n + 1
		return
	}
	for i := f.next; i <= n; {
		if i%64 == 0 && n-i >= 63 {
			f.words[i/64%filterWords] = 0
			i += 64
			continue
		}
		f.words[i/64%filterWords] &^= 1 << (i % 64)
		i++
	}
	f.next = n + 1
}

// Newest returns the newest received number, false if there is none.
func (f *Filter) Newest() (uint64, bool) { return f.next - 1, f.next != 0 }
