package core

import (
	"iter"

	"parley/internal/wire"
)

// The linking block (section 1.3.5) begins four packets, all reliable and ordered.
//
//	 0       1       2               4               6
//	+-------+-------+---------------+---------------+
//	| 0x04  | flags | sequence      | block, u16    |
//	+-------+-------+---------------+---------------+
//
//	flags bit 0   1
//	      bit 1   1
//	      2 to 6  how many numbers back the link packet before it is, or 0
//	      bit 7   0
//	block         0 init, 1 table, 2 accept, 3 reject
//
// link.init, link.accept and link.reject, from a client, are these 6 bytes.
// link.table, from a server, goes on as a Table.
func (p *Packet) readLink(r *wire.LittleReader, from Side) {
	const block, blockAt = "link type", 4
	flags := r.U8("flags")
	p.OrderLink = flags & flagsOrderLink >> orderLinkShift
	p.Sequence = r.U16("sequence")
	switch r.U16(block) {
	case 0:
		p.admit(r, KindLinkInit, from, flags, blockAt, block)
	case 1:
		p.admit(r, KindLinkTable, from, flags, blockAt, block)
		p.Table.read(r)
	case 2:
		p.admit(r, KindLinkAccept, from, flags, blockAt, block)
	case 3:
		p.admit(r, KindLinkReject, from, flags, blockAt, block)
	default:
		r.Fail(blockAt, block, "no such linking block")
	}
}

func (p *Packet) appendLink(b []byte) []byte {
	b = p.appendHead(b, p.flags()|p.orderLink())
	b = append(b, rules[p.Kind].sub, 0)
	if p.Kind == KindLinkTable {
		b = append(b, p.Table.variables, p.Table.entities)
		b = append(b, p.Table.body...)
	}
	return b
}

// Table is the body of a link.table (sections 1.3.5.2 to 1.3.5.5): the names and types of
// the numbers in replicates. Parse checks all of it, and then it is walked in place. A
// TableWriter makes one. The zero Table is empty.
//
//	 6       7       8
//	+-------+-------+---------------…-----------------------…
//	| vars  | ents  | variables × vars, then entities × ents
//	+-------+-------+---------------…-----------------------…
//
//	variable  link u16, data type u8, name size u8, name
//	entity    link u16, name size u8, name, variable count u8, then each of its
//	          variables: link u8, data type u8, name size u8, name
//
// The document prints the counts at 3 and 4, the offsets of an older revision. They
// follow the block type.
type Table struct {
	variables, entities uint8
	entitiesAt          int    // in body
	body                []byte // what follows the counts
}

// LinkedVariable is a variable of a Table or of one of its entities.
type LinkedVariable struct {
	Link uint16 // for an entity's variable: at most 255
	Type DataType
	Name []byte // UTF-8
}

// LinkedEntity is an entity kind of a Table.
type LinkedEntity struct {
	Link uint16
	Name []byte // UTF-8

	variables uint8
	body      []byte // from its first variable on
}

func (t *Table) read(r *wire.LittleReader) {
	t.variables = r.U8("variable count")
	t.entities = r.U8("entity count")
	t.body = restOf(r)
	before := len(t.body)
	for i := range r.Count("variables", int(t.variables), MaxListed, minVariableBytes) {
		readLinkedVariable(r)
		if !r.In("variables", i) {
			return
		}
	}
	t.entitiesAt = before - r.Len()
	for i := range r.Count("entities", int(t.entities), MaxListed, minEntityBytes) {
		e := readLinkedEntity(r)
		skipEntityVariables(r, e.variables)
		if !r.In("entities", i) {
			return
		}
	}
}

// restOf returns what r has not read, without reading it.
func restOf(r *wire.LittleReader) []byte {
	ahead := *r
	return ahead.Rest("rest", r.Len())
}

// The three readers below run up to 20,000 times a packet, so they are written
// out: a call for each field would double their cost.

func readLinkedVariable(r *wire.LittleReader) (v LinkedVariable) {
	v.Link = r.U16("link")
	v.Type = DataType(r.U8("data type"))
	if v.Type >= dataTypes {
		r.Fail(r.Offset()-1, "data type", "no such data type")
	}
	v.Name = r.Text("name", int(r.U8("name size")), MaxNameBytes)
	return v
}

func readEntityVariable(r *wire.LittleReader) (v LinkedVariable) {
	v.Link = uint16(r.U8("link"))
	v.Type = DataType(r.U8("data type"))
	if v.Type >= dataTypes {
		r.Fail(r.Offset()-1, "data type", "no such data type")
	}
	v.Name = r.Text("name", int(r.U8("name size")), MaxNameBytes)
	return v
}

func readLinkedEntity(r *wire.LittleReader) (e LinkedEntity) {
	e.Link = r.U16("link")
	e.Name = r.Text("name", int(r.U8("name size")), MaxNameBytes)
	e.variables = r.U8("variable count")
	return e
}

// skipEntityVariables reads what readEntityVariable does and keeps nothing of it.
func skipEntityVariables(r *wire.LittleReader, n uint8) {
	for i := range r.Count("variables", int(n), MaxListed, minEntityVariableBytes) {
		r.U8("link")
		if DataType(r.U8("data type")) >= dataTypes {
			r.Fail(r.Offset()-1, "data type", "no such data type")
		}
		if size := int(r.U8("name size")); size > 0 {
			r.Text("name", size, MaxNameBytes)
		}
		if !r.OK() {
			r.In("variables", i)
			return
		}
	}
}

// Empty reports whether the table is empty.
func (t Table) Empty() bool { return t.variables == 0 && t.entities == 0 }

// Variables yields the variables that belong to no entity, in the order of the
// packet.
func (t Table) Variables() iter.Seq[LinkedVariable] {
	return func(yield func(LinkedVariable) bool) {
		r := wire.Little(t.body)
		for range t.variables {
			if !yield(readLinkedVariable(&r)) {
				return
			}
		}
	}
}

// Entities yields the entity kinds, in the order of the packet.
func (t Table) Entities() iter.Seq[LinkedEntity] {
	return func(yield func(LinkedEntity) bool) {
		r := wire.Little(t.body)
		r.Skip("variables", t.entitiesAt)
		for range t.entities {
			e := readLinkedEntity(&r)
			e.body = restOf(&r)
			if !yield(e) {
				return
			}
			skipEntityVariables(&r, e.variables)
		}
	}
}

// Variables yields the variables of the entity kind, in the order of the packet.
func (e LinkedEntity) Variables() iter.Seq[LinkedVariable] {
	return func(yield func(LinkedVariable) bool) {
		r := wire.Little(e.body)
		for range e.variables {
			if !yield(readEntityVariable(&r)) {
				return
			}
		}
	}
}
