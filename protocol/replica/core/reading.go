package core

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"

	"parley/internal/wire"
)

// Values are the replicated values that a client knows. They are owned by the goroutine of the Endpoint.
type Values struct {
	kinds     map[uint16]*seenKind
	variables map[uint16]*seenVariable
	names     int // bytes of names, bounded
	values    int // stored values, bounded
}

// seenKind holds its entities by their ids, and their values by the links of the variables,
// which have one byte each: a packet has hundreds of values, and maps would cost more
// than all else.
type seenKind struct {
	name      string
	variables []seenName     // by link
	slots     *[256]seenSlot // once there is an entity
}

type seenName struct {
	Variable
	known bool
}

type seenSlot struct {
	entity *seenEntity
	gone   uint64 // number of the message that emptied the slot, plus one
}

type seenVariable struct {
	Variable
	value Reading
	set   bool
}

type seenEntity struct {
	values []seenValue // by link
	set    int         // how many there are
}

type seenValue struct {
	Reading
	set bool
}

// variable returns the variable of a link, nil if it is not linked.
func (k *seenKind) variable(link uint16) *Variable {
	if k == nil || int(link) >= len(k.variables) || !k.variables[link].known {
		return nil
	}
	return &k.variables[link].Variable
}

// learn adds a variable.
func (k *seenKind) learn(link uint8, v Variable) {
	for len(k.variables) <= int(link) {
		k.variables = append(k.variables, seenName{})
	}
	k.variables[link] = seenName{v, true}
}

// Reading is a replicated value with the time and the number of its packet.
type Reading struct {
	Type   DataType
	Data   []byte // the value's bytes; a copy that the caller owns
	Time   uint64 // the server's time, in µs
	Number uint64 // the packet's number, without wrap-around
}

// Int returns the value of an integer type.
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
			kind = &seenKind{name: string(k.Name)}
			s.kinds[k.Link] = kind
			s.names += 256 + len(k.Name)
		}
		for v := range k.Variables() {
			if s.names > maxNamesBytes {
				break
			}
			s.names += 32 + len(v.Name)
			kind.learn(uint8(v.Link), Variable{string(v.Name), v.Type})
		}
	}
	if s.names > maxNamesBytes {
		e.fail(e.now, Close{Reason: ReasonOverflow})
		return
	}
	e.linkOut(e.now, KindLinkAccept)
	ev := Event{Kind: EventLinked}
	if e.cfg.Detail {
		ev.Data = append([]byte{p.Table.variables, p.Table.entities}, p.Table.body...)
	}
	e.events = append(e.events, ev)
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
	if e.cfg.Detail && len(e.events) >= maxEvents {
		return // nobody reads: it comes again
	}
	n := e.unwrap(p.Sequence)
	if !e.receiver.Pass(now, n, p.Reliable) {
		return
	}
	e.accept(now, n)
	changed := false
	var at seenPlace
	for v := range p.Values.EntityValues() {
		at.find(&e.client.seen, &v)
		changed = e.client.seen.take(&at, n, p.Time, &v) || changed
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
	case e.cfg.Detail:
		data := append([]byte{p.Values.entities, p.Values.variables}, p.Values.body...)
		e.events = append(e.events, Event{Kind: EventReplicated, Time: p.Time, Number: n, Data: data})
	case changed:
		e.note(Event{Kind: EventReplicated, Time: p.Time, Number: n})
	}
}

// fits holds each value against the type of its link: "Replicated data whose size
// is not that of its linked type is bad input." What is not linked is ignored.
func (e *Endpoint) fits(p *Packet) bool {
	var at seenPlace
	for v := range p.Values.EntityValues() {
		if at.find(&e.client.seen, &v); at.variable != nil && !at.variable.Type.accepts(v.Data) {
			return false
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

// seenPlace is where a value of an entity belongs. Values come in groups, so that of the next it
// is mostly that of the last.
type seenPlace struct {
	entity, link uint16
	found        bool
	kind         *seenKind // nil if it is not linked
	variable     *Variable // nil if it is not linked
}

func (at *seenPlace) find(s *Values, v *EntityValue) {
	if at.found && at.entity == v.Entity && at.link == v.Variable {
		return
	}
	at.entity, at.link, at.found = v.Entity, v.Variable, true
	at.kind = s.kinds[v.Entity]
	at.variable = at.kind.variable(v.Variable)
}

// take stores a value if none newer is known: "A receiver keeps for each variable of
// each entity the (unwrapped) sequence of the last value and drops older ones."
func (s *Values) take(at *seenPlace, n, time uint64, v *EntityValue) bool {
	if at.variable == nil {
		return false
	}
	k := at.kind
	slot := s.slot(k, v.ID)
	// "The client drops values for such a slot with a sequence older than the
	// message's (remembered for 8,192 numbers)"
	if n < slot.gone {
		return false
	}
	if slot.entity == nil {
		slot.entity = new(seenEntity)
	}
	ent := slot.entity
	if more := len(k.variables) - len(ent.values); more > 0 {
		ent.values = append(ent.values, make([]seenValue, more)...)
		s.values += more
	}
	old := &ent.values[v.Variable]
	if !old.set {
		old.set = true
		ent.set++
	} else if old.Number > n {
		return false
	}
	old.Reading = Reading{Type: at.variable.Type, Data: append(old.Data[:0], v.Data...), Time: time, Number: n}
	return true
}

// slot returns a slot of a kind, which has all of them from the first on.
func (s *Values) slot(k *seenKind, id uint8) *seenSlot {
	if k.slots == nil {
		k.slots = new([256]seenSlot)
		s.values += slotsAsValues
	}
	return &k.slots[id]
}

// slotsAsValues is what the slots of a kind count as: as many values take as much memory.
const slotsAsValues = 64

// takeGone empties slots. The message is ours, and its layout is checked whole.
func (e *Endpoint) takeGone(n uint64, data []byte) {
	if len(data) == 0 || len(data)%goneBytes != 0 {
		e.noteMalformed(e.now)
		return
	}
	for r := wire.Little(data); r.Len() > 0; {
		link, id := r.U16("entity link"), r.U8("entity id")
		k := e.client.seen.kinds[link]
		if k == nil {
			continue
		}
		slot := e.client.seen.slot(k, id)
		slot.gone = max(slot.gone, n+1)
		ent := slot.entity
		if ent == nil {
			continue
		}
		// A value that overtook the message belongs to the slot's next entity.
		for i := range ent.values {
			if x := &ent.values[i]; x.set && x.Number < n {
				x.set = false
				ent.set--
			}
		}
		if ent.set == 0 {
			e.client.seen.values -= len(ent.values)
			slot.entity = nil
		}
		e.events = append(e.events, Event{Kind: EventGone, KindLink: link, ID: id, Number: n})
	}
}

// ParseValues reads the Data of an EventReplicated: see Config.Detail. What it returns shares the memory of b.
func ParseValues(b []byte) (v Replication, ok bool) {
	r := wire.Little(b)
	v.read(&r)
	return v, r.Done()
}

// ParseTable reads the Data of an EventLinked: see Config.Detail. What it returns shares the memory of b.
func ParseTable(b []byte) (t Table, ok bool) {
	r := wire.Little(b)
	t.read(&r)
	return t, r.Done()
}

// Values returns the replicated values that a client knows.
func (e *Endpoint) Values() *Values { return &e.client.seen }

// KindLink returns the link of the entity kind with this name.
func (s *Values) KindLink(name string) (uint16, bool) {
	for link, k := range s.kinds {
		if k.name == name {
			return link, true
		}
	}
	return 0, false
}

// Value returns the newest value of a variable that belongs to no entity.
func (s *Values) Value(name string) (Reading, bool) {
	for _, v := range s.variables {
		if v.Name == name && v.set {
			return v.value.owned(), true
		}
	}
	return Reading{}, false
}

// EntityValue returns the newest value of a variable of an entity.
func (s *Values) EntityValue(kind uint16, id uint8, name string) (Reading, bool) {
	k := s.kinds[kind]
	if k == nil || k.slots == nil || k.slots[id].entity == nil {
		return Reading{}, false
	}
	for link, v := range k.slots[id].entity.values {
		if v.set && k.variables[link].Name == name {
			return v.owned(), true
		}
	}
	return Reading{}, false
}

// Entities yields the ids of the entities of a kind that the client sees.
func (s *Values) Entities(kind uint16) func(yield func(id uint8) bool) {
	return func(yield func(uint8) bool) {
		k := s.kinds[kind]
		for id := 0; k != nil && k.slots != nil && id < len(k.slots); id++ {
			if k.slots[id].entity != nil && !yield(uint8(id)) {
				return
			}
		}
	}
}
