package core

import "math/bits"

// sees reports whether the client may see an element.
func (v *view) sees(slot int32) bool { return v.except.has(slot) != v.all }

// show has the client see an element from now on, or not.
func (v *view) show(slot int32, may bool) {
	v.turned = true
	if may != v.all {
		v.except.add(slot)
	} else {
		v.except.remove(slot)
	}
}

// inSight returns which of 64 slots the client may see.
func (v *view) inSight(w int) uint64 {
	if v.all {
		return ^v.except.word(w)
	}
	return v.except.word(w)
}

// A share is which of what the client may see is told over one channel.
type share uint8

const (
	theFeeds    share = iota // what it knows and a datagram holds
	mainsBeside              // the rest: what is new to it, or large
	mainsAlone               // all of it, when there is no feed
)

// wants returns which of 64 slots are of a share.
func (v *view) wants(what share, w int) uint64 {
	known := v.known.word(w) &^ v.elements.large.word(w)
	switch what {
	case theFeeds:
		return known
	case mainsBeside:
		return v.inSight(w) &^ known
	}
	return v.inSight(w)
}

// outline returns a set that a share lies in; with flip it is all that is not in that.
func (v *view) outline(what share) (set bitset, flip uint64) {
	switch {
	case what == theFeeds:
		return v.known, 0
	case v.all:
		return v.except, ^uint64(0)
	}
	return v.except, 0
}

// next returns the first in the log of changes, at or behind a place, that still counts and is of a share, and where
// that is: at head if there is none. Who keeps up asks for what the last flush brought, in which it finds its own by
// words of 64: what others see costs it next to nothing.
func (v *view) next(what share, pos uint64) (slot int32, at uint64) {
	t := v.elements
	if pos < t.base {
		panic("duplex: a place in the log that is gone")
	}
	for ; pos < t.newest; pos++ {
		slot := t.log[pos-t.base]
		if t.list[slot].pos == pos && v.wants(what, int(slot>>6))>>(slot&63)&1 != 0 {
			return slot, pos
		}
	}
	if pos == t.head() {
		return 0, pos
	}
	from := t.log[pos-t.base]
	set, flip := v.outline(what)
	for w := int(from >> 6); w < len(t.fresh); w++ {
		if t.fresh[w]&(set.word(w)^flip) == 0 {
			continue // mostly
		}
		word := t.fresh[w] & v.wants(what, w)
		if w == int(from>>6) {
			word &= ^uint64(0) << (from & 63)
		}
		for ; word != 0; word &= word - 1 {
			slot := int32(w<<6 + bits.TrailingZeros64(word))
			if at := t.list[slot].pos; at >= pos {
				return slot, at
			}
		}
	}
	return 0, t.head()
}

// look compares what the client may see with what it knows, when that is not what it was. Of what is new to
// the client because it was not there before, the log tells.
func (e *Endpoint) look() {
	v := e.view
	if !v.turned {
		return
	}
	v.turned = false
	for w, live := range v.elements.live {
		known := v.known.word(w)
		for word := live&v.inSight(w) ^ known; word != 0; word &= word - 1 {
			slot := int32(w<<6 + bits.TrailingZeros64(word))
			el := &v.elements.list[slot]
			switch {
			case known&(word&-word) != 0:
				e.retire(slot, el.sid)
			case !v.willName(slot):
				e.offer(slot, el)
			}
		}
	}
}
