package reliable

import (
	"slices"
	"time"
)

// Holes tracks numbers that are all used and all arrive in the end: the newest, and the
// missing ones below it. It costs memory only for missing numbers, and a run of them
// costs as much as one, so a single packet far ahead costs one entry. The zero value
// expects number 0 next.
type Holes struct {
	next    uint64 // the newest received number plus one
	missing []hole // in order of number
	count   int    // numbers that are missing
}

// hole is a run of missing numbers, end not included.
type hole struct {
	number, end uint64
	since       time.Duration
}

// Check returns what is known about n. At most limit numbers may be missing.
func (h *Holes) Check(n uint64, limit int) Sight {
	if n >= h.next {
		if n-h.next > uint64(limit-h.count) {
			return TooFar
		}
		return Fresh
	}
	if _, ok := h.find(n); ok {
		return Fresh
	}
	return Seen
}

// Mark notes that n was received. Check must have returned Fresh.
func (h *Holes) Mark(at time.Duration, n uint64) {
	if n < h.next {
		if i, ok := h.find(n); ok {
			h.fill(i, n)
		}
		return
	}
	if h.next < n {
		h.missing = append(h.missing, hole{h.next, n, at})
		h.count += int(n - h.next)
	}
	h.next = n + 1
}

// fill takes n out of the run of missing numbers that it is in.
func (h *Holes) fill(i int, n uint64) {
	h.count--
	switch row := &h.missing[i]; {
	case row.end-row.number == 1:
		h.missing = slices.Delete(h.missing, i, i+1)
		if len(h.missing) == 0 && cap(h.missing) > 64 {
			h.missing = nil
		}
	case n == row.number:
		row.number++
	case n == row.end-1:
		row.end--
	default:
		rest := hole{n + 1, row.end, row.since}
		row.end = n
		h.missing = slices.Insert(h.missing, i+1, rest)
	}
}

// Complete returns the number below which everything was received.
func (h *Holes) Complete() uint64 {
	if len(h.missing) > 0 {
		return h.missing[0].number
	}
	return h.next
}

// find returns the run of missing numbers that n is in.
func (h *Holes) find(n uint64) (int, bool) {
	return slices.BinarySearchFunc(h.missing, n, func(row hole, n uint64) int {
		switch {
		case row.end <= n:
			return -1
		case row.number > n:
			return 1
		}
		return 0
	})
}
