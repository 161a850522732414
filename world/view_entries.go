package world

// entries are what a client knows of the entities that it sees. What they cost
// grows with what is in sight and not with the world: two thousand views of
// two thousand entities would have four million. The zero value has none.
type entries struct {
	list  []sighted // in the order in which they came into sight
	all   []entry
	at    lookup[uint32] // which of all, by slot + 1
	spare []uint32       // those of all that are free
}

// A sighted is an entity in sight. Its entry keeps its place while it is that.
type sighted struct{ slot, at uint32 }

// An entry is what a client knows of an entity. The zero entry is nothing.
type entry struct {
	sent    uint64 // the publication that was told last
	lost    uint64 // fields that are to be told whatever has changed
	born    uint32 // the low bits of the slot's, if it is still the same entity
	urgency uint32
	stamp   uint32 // tells this time in sight from the next; 0: not in sight
	wire    uint16
	kind    uint8
	known   bool // the client is sure to have all fields; until then it is told all
}

// has reports whether there is an entry of a slot.
func (es *entries) has(slot uint32) bool {
	_, ok := es.at.get(slot + 1)
	return ok
}

// of returns where the entry of a slot is.
func (es *entries) of(slot uint32) (at uint32, ok bool) { return es.at.get(slot + 1) }

// add makes an entry for a slot that has none, and returns where it is.
func (es *entries) add(slot uint32, e entry) (at uint32) {
	if n := len(es.spare); n > 0 {
		at, es.spare = es.spare[n-1], es.spare[:n-1]
		es.all[at] = e
	} else {
		at = uint32(len(es.all))
		es.all = append(es.all, e)
	}
	es.at.put(slot+1, at)
	es.list = append(es.list, sighted{slot, at})
	return at
}

// free makes the place of an entry one for another. The caller takes it off
// the list.
func (es *entries) free(x sighted) {
	es.all[x.at] = entry{}
	es.at.remove(x.slot + 1)
	es.spare = append(es.spare, x.at)
}
