package core

// ReplicateWriter makes a replicate packet part by part, up to a size. If the next part would
// exceed that size or a count of the layout, its methods return false and change nothing:
// this packet is full, and the part goes into the next. After each call, Bytes returns a
// whole packet.
//
//	var w ReplicateWriter
//	w.Start(buf[:0], &Packet{Kind: KindReplicate, Reliable: true, Sequence: n, Time: t}, 1200)
//	for w.Add(kind, variable, id, data) { … }
//	for w.Variable(link, data) { … }
//	send(w.Bytes())
//
// Values of entities come before those of variables, as in the packet. Call Start on a zero
// ReplicateWriter. It allocates only if the buffer is smaller than the size.
type ReplicateWriter struct {
	packetWriter
	entity   entityGroup // countAt is of its variable links
	variable entityGroup // countAt is of its values
	plain    bool        // a value of no entity was written
}

// Start begins a packet at the end of b. It uses all fields of head but Values. size is the
// greatest size of the packet, including its head, which is always written.
func (w *ReplicateWriter) Start(b []byte, head *Packet, size int) {
	if head.Kind != KindReplicate {
		panic("replica: a ReplicateWriter writes a replicate")
	}
	empty := *head
	empty.Values = Replication{}
	*w = ReplicateWriter{}
	w.start(b, &empty, size)
}

// Entity adds an entity link without variables. EntityVariable then adds to it.
func (w *ReplicateWriter) Entity(link uint16) bool {
	if w.plain {
		panic("replica: entity links of a replicate come before its variables")
	}
	if !w.room(w.firstCount(), minEntityUpdateBytes) {
		return false
	}
	w.b[w.firstCount()]++
	w.b = append(w.b, uint8(link), uint8(link>>8), 0)
	w.entity, w.variable = entityGroup{link, len(w.b) - 1}, entityGroup{}
	return true
}

// EntityVariable adds a variable link without values to the last entity link. EntityValue
// then adds to it.
func (w *ReplicateWriter) EntityVariable(link uint16) bool {
	if w.entity.countAt == 0 || w.plain {
		panic("replica: a variable link of no entity link")
	}
	if !w.room(w.entity.countAt, minVariableUpdateBytes) {
		return false
	}
	w.b[w.entity.countAt]++
	w.b = append(w.b, uint8(link), uint8(link>>8), 0)
	w.variable = entityGroup{link, len(w.b) - 1}
	return true
}

// EntityValue adds the value of an entity to the last variable link.
func (w *ReplicateWriter) EntityValue(id uint8, data []byte) bool {
	if w.variable.countAt == 0 || w.plain {
		panic("replica: a value of no variable link")
	}
	checkValue(data)
	if !w.room(w.variable.countAt, minEntityValueBytes+len(data)) {
		return false
	}
	w.b[w.variable.countAt]++
	w.b = append(w.b, id, uint8(len(data)))
	w.b = append(w.b, data...)
	return true
}

// Add adds the value of a variable of an entity. It also adds the links that lead to the value,
// unless the last value had the same: it adds either all of this or nothing. So values sorted by
// entity link and variable link take the least space. A link whose count is full is written once
// more, which the layout allows: 256 entities of a kind need it.
func (w *ReplicateWriter) Add(entity, variable uint16, id uint8, data []byte) bool {
	if w.plain {
		panic("replica: values of entities come before those of variables")
	}
	checkValue(data)
	need := minEntityValueBytes + len(data)
	if w.entity.countAt != 0 && w.entity.link == entity {
		if w.variable.countAt != 0 && w.variable.link == variable && w.b[w.variable.countAt] < MaxListed {
			return w.EntityValue(id, data)
		}
		if w.b[w.entity.countAt] < MaxListed {
			return w.room(w.entity.countAt, minVariableUpdateBytes+need) && w.EntityVariable(variable) && w.EntityValue(id, data)
		}
	}
	return w.room(w.firstCount(), minEntityUpdateBytes+minVariableUpdateBytes+need) &&
		w.Entity(entity) && w.EntityVariable(variable) && w.EntityValue(id, data)
}

// Variable adds the value of a variable that belongs to no entity.
func (w *ReplicateWriter) Variable(link uint16, data []byte) bool {
	checkValue(data)
	if !w.room(w.secondCount(), minValueBytes+len(data)) {
		return false
	}
	w.plain = true
	w.b[w.secondCount()]++
	w.b = append(w.b, uint8(link), uint8(link>>8), uint8(len(data)))
	w.b = append(w.b, data...)
	return true
}

// checkValue panics on a value that no packet has room for, as checkLinked does.
func checkValue(data []byte) {
	if len(data) > MaxValueBytes {
		panic("replica: a replicated value has 255 bytes at most")
	}
}
