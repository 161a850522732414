package replica

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"
)

// seen is what a client knows of the server's world.
type seen struct {
	kinds     map[uint16]*seenKind
	variables map[uint16]*seenVariable
	names     int // bytes of names, bounded
	values    int // stored values, bounded
}

type seenKind struct {
	name      string
	variables map[uint16]Variable
	entities  map[uint8]*seenEntity
	gone      [256]uint64 // number of the message that emptied the slot, plus one
}

type seenVariable struct {
	Variable
	value Reading
	set   bool
}

type seenEntity struct {
	values map[uint16]*Reading
}

// Reading is a replicated value with the time and the number of its packet.
type Reading struct {
	Type   DataType
	Data   []byte // in the bytes of the type; the reader's own
	Time   uint64 // the server's, in µs
	Number uint64
}

// Int returns the value of a whole-number type.
func (v Reading) Int() int64 {
	switch v.Type {
	case DataChar:
		return int64(int8(v.Data[0]))
	case DataUchar:
		return int64(v.Data[0])
	case DataShort:
		return int64(int16(binary.LittleEndian.Uint16(v.Data)))
	case DataUshort:
		return int64(binary.LittleEndian.Uint16(v.Data))
	case DataInt:
		return int64(int32(binary.LittleEndian.Uint32(v.Data)))
	case DataUint:
		return int64(binary.LittleEndian.Uint32(v.Data))
	case DataInt64, DataUint64:
		return int64(binary.LittleEndian.Uint64(v.Data))
	}
	return 0
}

// Float returns the value of a float or a double.
func (v Reading) Float() float64 {
	switch v.Type {
	case DataFloat:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v.Data)))
	case DataDouble:
		return math.Float64frombits(binary.LittleEndian.Uint64(v.Data))
	}
	return float64(v.Int())
}

// owned returns the reading with bytes of its own: the stored ones are written
// over by the next value.
func (v Reading) owned() Reading {
	v.Data = bytes.Clone(v.Data)
	return v
}

// Text returns the value of a char [].
func (v Reading) Text() string { return string(v.Data) }

// takeTable learns the names of a table and answers it: "Names that the client
// does not know it may accept and ignore."
func (e *Endpoint) takeTable(p *Packet) {
	if accept := e.cfg.AcceptTable; accept != nil && !accept(p.Table) {
		e.linkOut(e.now, KindLinkReject)
		return
	}
	s := &e.client.seen
	if s.kinds == nil {
		s.kinds, s.variables = map[uint16]*seenKind{}, map[uint16]*seenVariable{}
	}
	for v := range p.Table.Variables() {
		s.names += 32 + len(v.Name)
		s.variables[v.Link] = &seenVariable{Variable: Variable{string(v.Name), v.Type}}
	}
	for k := range p.Table.Entities() {
		kind := s.kinds[k.Link]
		if kind == nil || kind.name != string(k.Name) {
			kind = &seenKind{name: string(k.Name), variables: map[uint16]Variable{}, entities: map[uint8]*seenEntity{}}
			s.kinds[k.Link] = kind
			s.names += 2300 + len(k.Name)
		}
		for v := range k.Variables() {
			if s.names > maxNamesBytes {
				break
			}
			s.names += 32 + len(v.Name)
			kind.variables[v.Link] = Variable{string(v.Name), v.Type}
		}
	}
	if s.names > maxNamesBytes {
		e.fail(e.now, Close{Reason: ReasonOverflow})
		return
	}
	e.linkOut(e.now, KindLinkAccept)
	e.events = append(e.events, Event{Kind: EventLinked})
}

// handleReplicate takes a packet of values. All of it is checked before any of it
// is taken or acknowledged.
func (e *Endpoint) handleReplicate(now time.Time, p *Packet) {
	if !e.inTime(now, p.Time) {
		e.stats.OutOfTime++
		return
	}
	if !e.fits(p) {
		e.noteMalformed(now)
		return
	}
	n := e.unwrap(p.Sequence)
	if !e.receiver.Pass(now, n, p.Reliable) {
		return
	}
	e.accept(now, n)
	changed := false
	for v := range p.Values.EntityValues() {
		changed = e.takeEntityValue(n, p.Time, v) || changed
	}
	for v := range p.Values.Variables() {
		if x := e.client.seen.variables[v.Link]; x != nil && (!x.set || x.value.Number < n) {
			x.value = Reading{Type: x.Type, Data: append(x.value.Data[:0], v.Data...), Time: p.Time, Number: n}
			x.set, changed = true, true
		}
	}
	switch {
	case e.client.seen.values > maxSeenValues:
		e.fail(now, Close{Reason: ReasonOverflow})
	case changed:
		e.note(Event{Kind: EventReplicated, Time: p.Time, Number: n})
	}
}

// fits holds each value against the type of its link: "Replicated data whose size
// is not that of its linked type is bad input." What is not linked is ignored.
func (e *Endpoint) fits(p *Packet) bool {
	for v := range p.Values.EntityValues() {
		if k := e.client.seen.kinds[v.Entity]; k != nil {
			if x, ok := k.variables[v.Variable]; ok && !x.Type.accepts(v.Data) {
				return false
			}
		}
	}
	for v := range p.Values.Variables() {
		if x := e.client.seen.variables[v.Link]; x != nil && !x.Type.accepts(v.Data) {
			return false
		}
	}
	return true
}

// accepts reports whether data is a value of the type that may be reckoned with.
func (d DataType) accepts(data []byte) bool { return d.Fits(len(data)) && d.Finite(data) }

// takeEntityValue stores a value if none newer is known: "A receiver keeps for
// each variable of each entity the (unwrapped) sequence of the last value and
// drops older ones."
func (e *Endpoint) takeEntityValue(n, time uint64, v EntityValue) bool {
	k := e.client.seen.kinds[v.Entity]
	if k == nil {
		return false
	}
	x, ok := k.variables[v.Variable]
	// "The client drops values for such a slot with a sequence older than the
	// message's (remembered for 8,192 numbers)"
	if !ok || n < k.gone[v.ID] {
		return false
	}
	ent := k.entities[v.ID]
	if ent == nil {
		ent = &seenEntity{values: map[uint16]*Reading{}}
		k.entities[v.ID] = ent
	}
	old := ent.values[v.Variable]
	if old == nil {
		old = &Reading{Type: x.Type}
		ent.values[v.Variable] = old
		e.client.seen.values++
	} else if old.Number > n {
		return false
	}
	*old = Reading{Type: x.Type, Data: append(old.Data[:0], v.Data...), Time: time, Number: n}
	return true
}

// takeGone empties slots. The message is ours, and its layout is checked whole.
func (e *Endpoint) takeGone(n uint64, data []byte) {
	if len(data) == 0 || len(data)%goneBytes != 0 {
		e.noteMalformed(e.now)
		return
	}
	for ; len(data) > 0; data = data[goneBytes:] {
		k := e.client.seen.kinds[binary.LittleEndian.Uint16(data)]
		if k == nil {
			continue
		}
		id := data[2]
		k.gone[id] = max(k.gone[id], n+1)
		ent := k.entities[id]
		if ent == nil {
			continue
		}
		// A value that overtook the message belongs to the slot's next entity.
		for v, x := range ent.values {
			if x.Number < n {
				delete(ent.values, v)
				e.client.seen.values--
			}
		}
		if len(ent.values) == 0 {
			delete(k.entities, id)
		}
		e.events = append(e.events, Event{Kind: EventGone, KindLink: binary.LittleEndian.Uint16(data), ID: id, Number: n})
	}
}

// KindLink returns the link of a kind that the server has named so.
func (e *Endpoint) KindLink(name string) (uint16, bool) {
	for link, k := range e.client.seen.kinds {
		if k.name == name {
			return link, true
		}
	}
	return 0, false
}

// Value returns the newest value of a variable of the game.
func (e *Endpoint) Value(name string) (Reading, bool) {
	for _, v := range e.client.seen.variables {
		if v.Name == name && v.set {
			return v.value.owned(), true
		}
	}
	return Reading{}, false
}

// EntityValue returns the newest value of a variable of an entity.
func (e *Endpoint) EntityValue(kind uint16, id uint8, name string) (Reading, bool) {
	k := e.client.seen.kinds[kind]
	if k == nil || k.entities[id] == nil {
		return Reading{}, false
	}
	for link, v := range k.entities[id].values {
		if k.variables[link].Name == name {
			return v.owned(), true
		}
	}
	return Reading{}, false
}

// Entities yields the ids of the entities of a kind that are in sight.
func (e *Endpoint) Entities(kind uint16) func(yield func(id uint8) bool) {
	return func(yield func(uint8) bool) {
		k := e.client.seen.kinds[kind]
		for id := 0; k != nil && id < 256; id++ {
			if k.entities[uint8(id)] != nil && !yield(uint8(id)) {
				return
			}
		}
	}
}
