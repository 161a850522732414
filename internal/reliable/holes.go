package reliable

import (
	"slices"
	"time"
)

// Holes remembers what was received of numbers that are all used and all come
// sooner or later: the newest, and what is missing below it. It costs memory
// only for what is missing. The zero value expects number 0 next.
type Holes struct {
	next    uint64 // the newest received number plus one
	missing []hole // in order of number
}

type hole struct {
	number uint64
	since  time.Duration
}

// Check says what is known of n, with at most limit holes.
func (h *Holes) Check(n uint64, limit int) Sight {
	if n >= h.next {
		if n-h.next > uint64(limit-len(h.missing)) {
			return TooFar
		}
		return Fresh
	}
	if _, ok := h.find(n); ok {
		return Fresh
	}
	return Seen
}

// Mark notes that n was received. The caller has seen Check return Fresh.
func (h *Holes) Mark(at time.Duration, n uint64) {
	if n < h.next {
		if i, ok := h.find(n); ok {
			h.missing = slices.Delete(h.missing, i, i+1)
			if len(h.missing) == 0 && cap(h.missing) > 64 {
				h.missing = nil
			}
		}
		return
	}
	for ; h.next < n; h.next++ {
		h.missing = append(h.missing, hole{h.next, at})
	}
	h.next = n + 1
}

// Complete returns the number below which everything was received.
func (h *Holes) Complete() uint64 {
	if len(h.missing) > 0 {
		return h.missing[0].number
	}
	return h.next
}

func (h *Holes) find(n uint64) (int, bool) {
	return slices.BinarySearchFunc(h.missing, n, func(a hole, n uint64) int {
		switch {
		case a.number < n:
			return -1
		case a.number > n:
			return 1
		}
		return 0
	})
}
