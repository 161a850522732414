package world

// hash folds a word into a hash. It is no guard against an attacker, who has no
// say in it: it finds differences.
func hash(h, v uint64) uint64 {
	h = (h ^ v) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// hashText folds a text into a hash, its size first.
func hashText(h uint64, s string) uint64 {
	h = hash(h, uint64(len(s)))
	for len(s) >= 8 {
		h = hash(h, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|
			uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
		s = s[8:]
	}
	var word uint64
	for i := range len(s) {
		word |= uint64(s[i]) << (8 * i)
	}
	return hash(h, word)
}

// sums are the hashes of the parts of a state.
type sums struct {
	entities, players, terrain, random uint64
}

func (s sums) all() uint64 {
	return mix(hash(hash(hash(hash(0, s.entities), s.players), s.terrain), s.random))
}

// Hash returns a hash of the state: the tick, every field of every entity (hidden fields
// too), its owner and its row in the table, the players, the changed cells and the random
// source, Mode, and the result of End. Equal worlds have equal hashes on every machine.
func (w *World) Hash() uint64 { return w.sums().all() }

func (w *World) sums() sums {
	s := sums{players: w.players.hash(), terrain: w.terrain.sum, random: hash(hash(0, w.random.state), w.tick)}
	if w.mode != "" { // worlds from before there was one keep their hashes
		s.random = hashText(s.random, w.mode)
	}
	s.random = w.ending.hash(s.random)
	for _, t := range w.tables {
		s.entities = t.hash(s.entities)
	}
	return s
}

func (t *table) hash(h uint64) uint64 {
	h = hash(h, uint64(t.count))
	for row := t.next(0); row >= 0; row = t.next(row + 1) {
		h = hash(hash(hash(h, uint64(row)), uint64(t.ids[row])), uint64(t.owners[row]))
		p := t.at(row)
		for i := range t.kind.Fields {
			h = hashField(h, &t.kind.Fields[i], p)
		}
		for i := range t.kind.hidden {
			h = hashField(h, &t.kind.hidden[i], p)
		}
	}
	return h
}

func hashField(h uint64, f *Field, row rowPointer) uint64 {
	if f.Type == Text {
		return hashText(h, *f.text(row))
	}
	return hash(h, f.load(row))
}
