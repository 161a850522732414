package reliable

// Filter remembers which of the last 8,192 numbers were received. The zero value expects
// numbers from 0 on; numbers below the first count as received.
//
//	         newest−8191            newest          newest+8192
//	stale   |        known         |      may come      |   too far
//
// Numbers are unwrapped to 64 bits, so nothing here ever wraps.
//
// Most numbers arrive, and nearly in order. So only the newest numbers, back to the
// oldest hole, are kept one by one, as bits. All before them within the 8,192 were
// received. A path without loss costs 16 bytes, the worst path 1 KiB.
type Filter struct {
	next  uint64   // the newest received number plus one
	bits  []uint64 // number n is bit n modulo their count; a power of two
	first [leastFilterWords]uint64
}

const (
	// FilterSpan is how many numbers are remembered: "The receiver remembers
	// the last 8,192 numbers" (replica, Sequences).
	FilterSpan = 8192

	leastFilterWords = 2
	mostFilterWords  = FilterSpan / 64
	// Below this a filter is not worth making smaller.
	smallFilterWords = 16
)

// Sight is what a Filter knows about a number.
type Sight uint8

const (
	// Fresh means not received yet.
	Fresh Sight = iota + 1
	// Seen means received before.
	Seen
	// Stale means too old to know.
	Stale
	// TooFar means more than FilterSpan ahead of the newest.
	TooFar
)

// String returns the name of the sight.
func (s Sight) String() string {
	return nameOf(uint8(s), "unset", "fresh", "seen", "stale", "too far")
}

// Check returns what is known about n and changes nothing.
func (f *Filter) Check(n uint64) Sight {
	switch {
	case n >= f.next:
		if n-f.next >= FilterSpan {
			return TooFar
		}
		return Fresh
	case f.next-n > FilterSpan:
		return Stale
	case f.next-n > f.size() || f.has(n):
		return Seen
	}
	return Fresh
}

// Mark notes that n was received. Check must have returned Fresh.
func (f *Filter) Mark(n uint64) {
	if f.bits == nil {
		f.bits = f.first[:]
		f.fill(0, leastFilterWords)
	}
	for f.next <= n {
		if len(f.bits) == mostFilterWords && f.next%64 == 0 && n-f.next >= 63 {
			f.bits[f.next/64%mostFilterWords] = 0 // a jump costs one step per word, not per bit
			f.next += 64
			continue
		}
		f.advance()
	}
	*f.word(n) |= 1 << (n % 64)
}

// Newest returns the newest received number, false if there is none.
func (f *Filter) Newest() (uint64, bool) { return f.next - 1, f.bits != nil }

// size is how many of the newest numbers are kept one by one.
func (f *Filter) size() uint64 { return 64 * uint64(len(f.bits)) }

// word returns the word with the bit of n. A division would take longer than all else
// here.
func (f *Filter) word(n uint64) *uint64 { return &f.bits[n/64&uint64(len(f.bits)-1)] }

func (f *Filter) has(n uint64) bool { return *f.word(n)&(1<<(n%64)) != 0 }

// fill notes that all numbers of these words were received.
func (f *Filter) fill(from, to int) {
	for i := from; i < to; i++ {
		f.bits[i] = ^uint64(0)
	}
}

// advance makes room for the number next. It takes the bit of the number that is size
// back. A hole there must be kept as long as it is not stale.
func (f *Filter) advance() {
	if !f.has(f.next) && len(f.bits) < mostFilterWords {
		f.grow()
	} else if len(f.bits) > smallFilterWords && f.next%f.size() == 0 {
		f.shrink()
	}
	*f.word(f.next) &^= 1 << (f.next % 64)
	f.next++
}

// grow doubles the bits. All numbers of the older half were received.
func (f *Filter) grow() {
	old := *f
	f.bits = make([]uint64, 2*len(old.bits))
	f.fill(0, len(f.bits))
	for n := f.next - min(f.next, old.size()); n < f.next; n++ {
		if !old.has(n) {
			*f.word(n) &^= 1 << (n % 64)
		}
	}
}

// shrink halves the bits if three quarters of them have no hole. It is called
// when the oldest number is the first bit.
func (f *Filter) shrink() {
	for _, w := range f.bits[:len(f.bits)*3/4] {
		if w != ^uint64(0) {
			return
		}
	}
	f.bits = append([]uint64(nil), f.bits[len(f.bits)/2:]...)
}
