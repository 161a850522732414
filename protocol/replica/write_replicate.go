package replica

// ReplicateWriter makes a replicate packet piece by piece, within a size. Its
// methods return false, and change nothing, when the next piece would go over
// that size or over a count of the layout: then this packet is full, and the
// piece goes into the next. After each call Bytes is a whole packet.
//
//	var w ReplicateWriter
//	w.Start(buf[:0], &Packet{Kind: KindReplicate, Reliable: true, Sequence: n, Time: t}, 1200)
//	for w.Add(kind, variable, id, data) { … }
//	for w.Variable(link, data) { … }
//	send(w.Bytes())
//
// Values of entities come before those of variables, as in the packet. The zero
// ReplicateWriter is to be started; it allocates only if the buffer is smaller
// than the size.
type ReplicateWriter struct {
	packetWriter
	entity   entityGroup // countAt is of its variable links
	variable entityGroup // countAt is of its values
	plain    bool        // a value of no entity was written
}

// Start begins a packet at the end of b. Of head all fields count but Values;
// size is the most that the packet may have, its head included, which is always
// written.
func (w *ReplicateWriter) Start(b []byte, head *Packet, size int) {
	if head.Kind != KindReplicate {
		panic("replica: a ReplicateWriter writes a replicate")
	}
	empty := *head
	empty.Values = Replication{}
	*w = ReplicateWriter{}
	w.start(b, &empty, size)
}

// Entity adds an entity link without variables; those that EntityVariable adds
// are its own.
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

// EntityVariable adds a variable link without values to the entity link that was
// added last; those that EntityValue adds are its own.
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

// EntityValue adds the value of an entity to the variable link that was added last.
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

// Add adds the value of a variable of an entity, and before it the links that
// lead to it, unless they are those of the last value: all or nothing. So values
// that come sorted by entity link and variable link take the least room. A link
// whose count is full is written once more, which the layout allows: 256 entities
// of a kind need it.
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
