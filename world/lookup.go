package world

import "unsafe"

// A lookup finds a number by an ID or by a slot, neither of them 0: open addressing
// with linear probing, flat, without Go's map, whose growth allocates and whose order
// is random. The zero value is empty.
type lookup[K ~uint32 | ~uint64] struct {
	keys []K
	vals []uint32
	n    int
}

func (t *lookup[K]) reserve(n int) {
	if 2*n <= len(t.keys) {
		return
	}
	size := 16
	for size < 2*n {
		size *= 2
	}
	old := *t
	t.keys, t.vals, t.n = make([]K, size), make([]uint32, size), 0
	for i, key := range old.keys {
		if key != 0 {
			t.put(key, old.vals[i])
		}
	}
}

// home returns where a key is put if that is free. Slots and players' numbers, which have 32 bits, are mostly in a row, and so
// are their homes then: neighbours are in one line of the processor's cache.
func (t *lookup[K]) home(key K) int {
	if unsafe.Sizeof(key) == 4 {
		return int(key) & (len(t.keys) - 1)
	}
	h := uint64(key) * 0x9e3779b97f4a7c15
	return int(h>>32) & (len(t.keys) - 1)
}

func (t *lookup[K]) get(key K) (uint32, bool) {
	if key == 0 || len(t.keys) == 0 {
		return 0, false
	}
	for i := t.home(key); ; i = (i + 1) & (len(t.keys) - 1) {
		switch t.keys[i] {
		case key:
			return t.vals[i], true
		case 0:
			return 0, false
		}
	}
}

// put adds a key, or changes its number.
func (t *lookup[K]) put(key K, v uint32) { *t.at(key) = v }

// at returns the number of a key, which is added with 0 if it is not there. It is valid until the next key is.
func (t *lookup[K]) at(key K) *uint32 {
	t.reserve(t.n + 1)
	i := t.home(key)
	for t.keys[i] != 0 && t.keys[i] != key {
		i = (i + 1) & (len(t.keys) - 1)
	}
	if t.keys[i] == 0 {
		t.n++
		t.keys[i], t.vals[i] = key, 0
	}
	return &t.vals[i]
}

// remove takes a key out and moves up those that stood behind it, so that no
// gap ends a search too early.
func (t *lookup[K]) remove(key K) {
	if _, ok := t.get(key); !ok {
		return
	}
	mask := len(t.keys) - 1
	i := t.home(key)
	for t.keys[i] != key {
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

func (t *lookup[K]) clear() {
	clear(t.keys)
	t.n = 0
}
