package world

import "fmt"

// An ID names an entity for ever, in every replay: it is made of who created
// it and when, so that an action that comes late creates the same ID as it
// would have in time. Clients know entities by a number of 15 bits that
// Sim.Wire gives. The zero ID is no entity.
//
//	tick 32 bits | player 16 bits | which of the births of that tick 16 bits
type ID uint64

func makeID(tick uint64, p PlayerID, n uint16) ID {
	return ID(tick<<32 | uint64(p)<<16 | uint64(n))
}

// String writes where an entity comes from: its tick, its player (0 is the
// world itself) and which of the births of that tick it is.
func (id ID) String() string {
	if id == 0 {
		return "none"
	}
	return fmt.Sprintf("t%d.p%d.%d", uint32(id>>32), uint16(id>>16), uint16(id))
}

// A PlayerID numbers a player from its joining to its leaving. Zero is no
// player: what nobody owns. Numbers come around only after 65,535 others.
type PlayerID uint16

// An idTable finds a number by ID: open addressing with linear probing, flat,
// without Go's map, whose growth allocates and whose order is random. The zero
// value is empty.
type idTable struct {
	keys []ID
	vals []uint32
	n    int
}

func (t *idTable) reserve(n int) {
	size := 16
	for size < 2*n {
		size *= 2
	}
	if size <= len(t.keys) {
		return
	}
	old := *t
	t.keys, t.vals, t.n = make([]ID, size), make([]uint32, size), 0
	for i, id := range old.keys {
		if id != 0 {
			t.put(id, old.vals[i])
		}
	}
}

func (t *idTable) home(id ID) int {
	h := uint64(id) * 0x9e3779b97f4a7c15
	return int(h>>32) & (len(t.keys) - 1)
}

func (t *idTable) get(id ID) (uint32, bool) {
	if id == 0 || len(t.keys) == 0 {
		return 0, false
	}
	for i := t.home(id); ; i = (i + 1) & (len(t.keys) - 1) {
		switch t.keys[i] {
		case id:
			return t.vals[i], true
		case 0:
			return 0, false
		}
	}
}

// put adds an ID, or changes its number.
func (t *idTable) put(id ID, v uint32) {
	t.reserve(t.n + 1)
	i := t.home(id)
	for t.keys[i] != 0 && t.keys[i] != id {
		i = (i + 1) & (len(t.keys) - 1)
	}
	if t.keys[i] == 0 {
		t.n++
	}
	t.keys[i], t.vals[i] = id, v
}

// remove takes an ID out and moves up those that stood behind it, so that no
// gap ends a search too early.
func (t *idTable) remove(id ID) {
	if _, ok := t.get(id); !ok {
		return
	}
	mask := len(t.keys) - 1
	i := t.home(id)
	for t.keys[i] != id {
		i = (i + 1) & mask
	}
	for j := i; ; {
		j = (j + 1) & mask
		if t.keys[j] == 0 {
			break
		}
		// The one at j may stand at i if i is not before its home.
		if (j-t.home(t.keys[j]))&mask >= (j-i)&mask {
			t.keys[i], t.vals[i] = t.keys[j], t.vals[j]
			i = j
		}
	}
	t.keys[i] = 0
	t.n--
}

func (t *idTable) clear() {
	clear(t.keys)
	t.n = 0
}
