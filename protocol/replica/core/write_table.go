package core

import "math"

// TableWriter makes a link.table packet part by part, up to a size. If the next part would exceed
// that size or a count of the layout, its methods return false and change nothing: this packet is
// full, and the part goes into the next. After each call, Bytes returns a whole packet.
//
//	var w TableWriter
//	w.Start(buf[:0], &Packet{Kind: KindLinkTable, Reliable: true, Ordered: true, Sequence: n}, 1200)
//	for w.Variable(link, DataUint64, "tick") { … }
//	for w.Add(kind, "player", link, DataFloat, "x") { … }
//	send(w.Bytes())
//
// Variables come before entities, as in the packet. Call Start on a zero TableWriter. It allocates
// only if the buffer is smaller than the size.
type TableWriter struct {
	packetWriter
	entity entityGroup
}

// entityGroup is the entity that further variables join.
type entityGroup struct {
	link    uint16
	countAt int // of its variables; 0 if there is no entity yet
}

// Start begins a packet at the end of b. It uses all fields of head but Table. size is the greatest
// size of the packet, including its head, which is always written.
func (w *TableWriter) Start(b []byte, head *Packet, size int) {
	if head.Kind != KindLinkTable {
		panic("replica: a TableWriter writes a link.table")
	}
	empty := *head
	empty.Table = Table{}
	*w = TableWriter{}
	w.start(b, &empty, size)
}

// Variable adds a variable that belongs to no entity.
func (w *TableWriter) Variable(link uint16, t DataType, name string) bool {
	if w.entity.countAt != 0 {
		panic("replica: the variables of a table come before its entities")
	}
	checkLinked(t, name)
	if !w.room(w.firstCount(), minVariableBytes+len(name)) {
		return false
	}
	w.b[w.firstCount()]++
	w.b = append(w.b, uint8(link), uint8(link>>8), uint8(t))
	w.b = appendText(w.b, name)
	return true
}

// Entity adds an entity without variables. EntityVariable then adds to it.
func (w *TableWriter) Entity(link uint16, name string) bool {
	checkLinked(0, name)
	if !w.room(w.secondCount(), minEntityBytes+len(name)) {
		return false
	}
	w.b[w.secondCount()]++
	w.b = append(w.b, uint8(link), uint8(link>>8))
	w.b = appendText(w.b, name)
	w.entity = entityGroup{link, len(w.b)}
	w.b = append(w.b, 0)
	return true
}

// EntityVariable adds a variable to the last entity.
func (w *TableWriter) EntityVariable(link uint8, t DataType, name string) bool {
	if w.entity.countAt == 0 {
		panic("replica: a variable of no entity")
	}
	checkLinked(t, name)
	if !w.room(w.entity.countAt, minEntityVariableBytes+len(name)) {
		return false
	}
	w.b[w.entity.countAt]++
	w.b = append(w.b, link, uint8(t))
	w.b = appendText(w.b, name)
	return true
}

// Add adds a variable of an entity, and the entity itself unless it was added last: both or neither.
// An entity with more variables than fit into a packet is added again in the next, under the same
// link.
func (w *TableWriter) Add(entity uint16, entityName string, link uint8, t DataType, name string) bool {
	checkLinked(0, entityName)
	checkLinked(t, name)
	need := minEntityVariableBytes + len(name)
	if w.entity.countAt != 0 && w.entity.link == entity && w.room(w.entity.countAt, need) {
		return w.EntityVariable(link, t, name)
	}
	if !w.room(w.secondCount(), minEntityBytes+len(entityName)+need) {
		return false
	}
	return w.Entity(entity, entityName) && w.EntityVariable(link, t, name)
}

// checkLinked panics on what no packet can say: a writer that just said no would
// be asked for ever.
func checkLinked(t DataType, name string) {
	if t >= dataTypes || len(name) > MaxNameBytes {
		panic("replica: a table has names of 255 bytes at most and the types of the document")
	}
}

// packetWriter is what the two writers share: a packet whose head ends in two
// counts of one byte, and which grows up to a size.
type packetWriter struct {
	b         []byte
	from, end int // of the packet in b: where it begins, where it must end
	body      int // behind the two counts
}

func (w *packetWriter) start(b []byte, empty *Packet, size int) {
	w.from = len(b)
	w.b = empty.AppendTo(b)
	w.body = len(w.b)
	w.end = w.from + min(size, math.MaxInt-w.from)
}

func (w *packetWriter) firstCount() int  { return w.body - 2 }
func (w *packetWriter) secondCount() int { return w.body - 1 }

// room reports whether n bytes and one more element of the count at countAt fit.
func (w *packetWriter) room(countAt, n int) bool {
	return n <= w.end-len(w.b) && w.b[countAt] < MaxListed
}

// Bytes returns the buffer that was given to Start, with the packet at its end.
func (w *packetWriter) Bytes() []byte { return w.b }

// Len returns the size of the packet so far.
func (w *packetWriter) Len() int { return len(w.b) - w.from }

// Empty reports whether nothing was added yet.
func (w *packetWriter) Empty() bool { return len(w.b) == w.body }
