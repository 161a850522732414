package core

// watch is an entity whose values a client is to have before something else is said of it.
type watch struct {
	slot  *slot    // nil if there is none
	since uint64   // the version of the Store when the watch began
	want  []uint64 // by variable: the version that is waited for, or a newer one; 0 if one has arrived
	left  int      // how many are waited for
}

// Knows reports whether the client has acknowledged a value of each variable of an entity in its sight. Call it once a tick, before
// Replicate, for one entity at a time: values that arrive are followed for the entity of the last call only.
func (c *Conn) Knows(e *Entity) bool {
	v := c.endpoint.view
	if v == nil || v.seen[e] == nil {
		return false
	}
	if v.watch.slot != v.seen[e] {
		v.begin(c.endpoint.store, v.seen[e])
	}
	return v.watch.left == 0
}

// begin begins to watch. A value that was sent has arrived if no packet with it is under way: those of lost ones are to be sent again.
func (v *view) begin(store *Store, s *slot) {
	w, e := &v.watch, s.entity
	w.slot, w.since, w.left = s, store.version, 0
	w.want = append(w.want[:0], e.versions...)
	for i, version := range e.versions {
		sent := s.sent[i]
		if v.together {
			sent = v.base
		}
		if version <= sent && !v.underWay(store, s, i, version) {
			w.want[i] = 0
		}
		if w.want[i] != 0 {
			w.left++
		}
	}
}

// underWay reports whether a packet with a value is.
func (v *view) underWay(store *Store, s *slot, variable int, version uint64) bool {
	for tag := v.batch; tag != 0; tag = store.batches.at(tag).older {
		c := store.batches.at(tag).cargo
		for i := 0; c != nil && i < len(c.values); i++ {
			if x := &c.values[i]; x.kind == s.kind && x.id == s.id && int(x.variable) == variable && x.version == version {
				return true
			}
		}
	}
	return false
}

// arrived notes what a packet carried that the client has. No value has a version that another ever had, so a packet with values of
// whoever had the slot before is of no account.
func (w *watch) arrived(c *cargo) {
	if w.slot == nil || w.left == 0 || c == nil {
		return
	}
	for i := range c.values {
		x := &c.values[i]
		if x.kind != w.slot.kind || x.id != w.slot.id {
			continue
		}
		if want := w.want[x.variable]; want != 0 && (x.version == want || x.version > w.since) {
			w.want[x.variable] = 0
			w.left--
		}
	}
}
