package core

import (
	"iter"

	"parley/internal/wire"
)

// A replicate (section 1.3.6) carries changed values, from a server.
//
//	 0       1       2               4                       12
//	+-------+-------+---------------+-----------------------+
//	| 0x05  | flags | sequence      | time, u64 µs          |
//	+-------+-------+---------------+-----------------------+
//	 12      13      14
//	+-------+-------+---------------…-----------------------…
//	| ents  | vars  | entity links × ents, then values × vars
//	+-------+-------+---------------…-----------------------…
//
//	flags bit 0   1: acknowledge this
//	      others  0
//	time          server time when this was sent
//
// Both counts are printed at position 11 of the block; they follow each other.
func (p *Packet) readReplicate(r *wire.LittleReader, from Side) {
	p.admit(r, KindReplicate, from, r.U8("flags"), 0, "packet type")
	p.Sequence = r.U16("sequence")
	p.Time = r.U64("timestamp")
	p.Values.read(r)
}

func (p *Packet) appendReplicate(b []byte) []byte {
	b = p.appendHead(b, p.flags())
	b = little.AppendUint64(b, p.Time)
	b = append(b, p.Values.entities, p.Values.variables)
	return append(b, p.Values.body...)
}

// Replication is the body of a replicate (sections 1.3.6.1 to 1.3.6.4). Parse checks all
// of it, and then it is walked in place. A ReplicateWriter makes one. The zero
// Replication is empty.
//
//	entity link    link u16, variable count u8, then each variable link
//	variable link  link u16, entity count u8, then each entity value
//	entity value   entity u8, data size u8, data
//	value          link u16, data size u8, data
//
// A variable link has 16 bits here and 8 in the table, so no table names a link over 255.
// Such a link is well formed all the same. So is a link that occurs twice.
type Replication struct {
	entities, variables uint8
	variablesAt         int    // in body
	body                []byte // what follows the counts
}

// EntityUpdate is the part of a Replication for one entity kind.
type EntityUpdate struct {
	Link uint16

	variables uint8
	body      []byte // from its first variable link on
}

// VariableUpdate is the part of a Replication for one variable of an entity kind.
type VariableUpdate struct {
	Link uint16

	values uint8
	body   []byte // from its first value on
}

// EntityValue is a value of a variable of an entity, with the path to it.
type EntityValue struct {
	Entity   uint16 // link of the entity kind
	Variable uint16 // link of the variable in it
	ID       uint8  // the entity's number within its kind
	Data     []byte
}

// Value is the value of a variable that belongs to no entity.
type Value struct {
	Link uint16
	Data []byte
}

func (v *Replication) read(r *wire.LittleReader) {
	v.entities = r.U8("entity count")
	v.variables = r.U8("variable count")
	v.body = restOf(r)
	before := len(v.body)
	for i := range r.Count("entities", int(v.entities), MaxListed, minEntityUpdateBytes) {
		skipVariableUpdates(r, readEntityUpdate(r).variables)
		if !r.In("entities", i) {
			return
		}
	}
	v.variablesAt = before - r.Len()
	for i := range r.Count("variables", int(v.variables), MaxListed, minValueBytes) {
		readValue(r)
		if !r.In("variables", i) {
			return
		}
	}
}

func readEntityUpdate(r *wire.LittleReader) EntityUpdate {
	return EntityUpdate{Link: r.U16("link"), variables: r.U8("variable count")}
}

func readVariableUpdate(r *wire.LittleReader) VariableUpdate {
	return VariableUpdate{Link: r.U16("link"), values: r.U8("entity count")}
}

func readEntityValue(r *wire.LittleReader) (id uint8, data []byte) {
	id = r.U8("entity")
	data = r.Bytes("data", int(r.U8("data size")), MaxValueBytes)
	return id, data
}

func readValue(r *wire.LittleReader) (v Value) {
	v.Link = r.U16("link")
	v.Data = r.Bytes("data", int(r.U8("data size")), MaxValueBytes)
	return v
}

func skipVariableUpdates(r *wire.LittleReader, n uint8) {
	for i := range r.Count("variables", int(n), MaxListed, minVariableUpdateBytes) {
		skipEntityValues(r, readVariableUpdate(r).values)
		if !r.In("variables", i) {
			return
		}
	}
}

func skipEntityValues(r *wire.LittleReader, n uint8) {
	for i := range r.Count("values", int(n), MaxListed, minEntityValueBytes) {
		// As readEntityValue, without its call: a packet may have 30,000.
		r.U8("entity")
		r.Skip("data", int(r.U8("data size")))
		if !r.In("values", i) {
			return
		}
	}
}

// Empty reports whether the packet replicates nothing.
func (v Replication) Empty() bool { return v.entities == 0 && v.variables == 0 }

// EntityValues yields each value of each entity, in the order of the packet. Entities also
// shows how the values are grouped.
func (v Replication) EntityValues() iter.Seq[EntityValue] {
	return func(yield func(EntityValue) bool) {
		r := wire.Little(v.body)
		for range v.entities {
			e := readEntityUpdate(&r)
			for range e.variables {
				u := readVariableUpdate(&r)
				for range u.values {
					value := EntityValue{Entity: e.Link, Variable: u.Link}
					value.ID, value.Data = readEntityValue(&r)
					if !yield(value) {
						return
					}
				}
			}
		}
	}
}

// Entities yields the entity links, in the order of the packet.
func (v Replication) Entities() iter.Seq[EntityUpdate] {
	return func(yield func(EntityUpdate) bool) {
		r := wire.Little(v.body)
		for range v.entities {
			e := readEntityUpdate(&r)
			e.body = restOf(&r)
			if !yield(e) {
				return
			}
			skipVariableUpdates(&r, e.variables)
		}
	}
}

// Variables yields the variable links of an entity link, in the order of the
// packet.
func (e EntityUpdate) Variables() iter.Seq[VariableUpdate] {
	return func(yield func(VariableUpdate) bool) {
		r := wire.Little(e.body)
		for range e.variables {
			u := readVariableUpdate(&r)
			u.body = restOf(&r)
			if !yield(u) {
				return
			}
			skipEntityValues(&r, u.values)
		}
	}
}

// Values yields the entity ids of a variable link and their values, in the order of the
// packet.
func (u VariableUpdate) Values() iter.Seq2[uint8, []byte] {
	return func(yield func(uint8, []byte) bool) {
		r := wire.Little(u.body)
		for range u.values {
			if !yield(readEntityValue(&r)) {
				return
			}
		}
	}
}

// Variables yields the values that belong to no entity, in the order of the
// packet.
func (v Replication) Variables() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		r := wire.Little(v.body)
		r.Skip("entities", v.variablesAt)
		for range v.variables {
			if !yield(readValue(&r)) {
				return
			}
		}
	}
}
