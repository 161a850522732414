package core

import (
	"math/bits"

	"parley/internal/lend"
)

// What views are made of, lent by the Store to all of them: what one client no longer sees
// another may see next, and in all they see about as much as before. So a game in which
// players walk about allocates nothing.

// takeSlot returns a slot of which nothing was sent. A packet that is still under way may have carried
// values of whoever had it before: no value has a version that another ever had, so what becomes of
// that packet is of no account to the next.
func (s *Store) takeSlot(link uint16) *slot {
	k := &s.kinds[link]
	if k.spare == nil {
		made, sent := make([]slot, slotsAtOnce), make([]uint64, slotsAtOnce*len(k.variables))
		for i := range made {
			made[i].kind = link
			made[i].sent, sent = sent[:len(k.variables):len(k.variables)], sent[len(k.variables):]
			s.giveSlot(&made[i])
		}
	}
	x := k.spare
	k.spare, k.spares = x.behind, k.spares-1
	clear(x.sent)
	*x = slot{sent: x.sent}
	return x
}

// giveSlot takes back a slot of no entity.
func (s *Store) giveSlot(x *slot) {
	k := &s.kinds[x.kind]
	if k.spares >= maxSpareSlots {
		return
	}
	x.entity, x.behind = nil, k.spare
	k.spare, k.spares = x, k.spares+1
}

// batch is what one packet under way carried: values, or slots that are gone.
type batch struct {
	cargo        *cargo
	gone         *slot
	older, newer uint32 // of the same view; of one that is not in use older is the next such
}

// batches are those of all views. Each is known by its tag, which is its place plus one.
// There are as many as were ever under way at once.
type batches struct {
	list []batch
	free uint32 // the first that is not in use
}

func (l *batches) at(tag uint32) *batch { return &l.list[tag-1] }

// begin returns the tag of a batch that is empty.
func (l *batches) begin(v *view) uint32 {
	tag := l.free
	if tag == 0 {
		l.list = append(l.list, batch{})
		tag = uint32(len(l.list))
	} else {
		l.free = l.at(tag).older
	}
	*l.at(tag) = batch{older: v.batch}
	if v.batch != 0 {
		l.at(v.batch).newer = tag
	}
	v.batch = tag
	return tag
}

// end ends one.
func (l *batches) end(v *view, tag uint32) {
	b := l.at(tag)
	if b.newer != 0 {
		l.at(b.newer).older = b.older
	} else {
		v.batch = b.older
	}
	if b.older != 0 {
		l.at(b.older).newer = b.newer
	}
	*b = batch{older: l.free}
	l.free = tag
}

// cargos lends cargos, by how many values they have room for: see cargoClass.
type cargos struct {
	spare [cargoClasses]lend.Spares[*cargo]
	sent  [][]uint64 // bytes of values, by kind and variable
}

// cargoClass returns which class of cargos has room for n values: 16, and twice as many in each
// next. A packet of the smallest values has less than 512.
func cargoClass(n int) int { return bits.Len(uint(max(n-1, 0)) / leastCargo) }

const (
	cargoClasses = 6
	leastCargo   = 16
)

// take returns a cargo with room for n values, or for more if there is none.
func (l *cargos) take(n int) *cargo {
	first := cargoClass(n)
	for i := first; i < len(l.spare); i++ {
		if c, ok := l.spare[i].Take(); ok {
			c.refs, c.sends, c.values = 1, 0, c.values[:0]
			return c
		}
	}
	return &cargo{refs: 1, values: make([]sentValue, 0, leastCargo<<first)}
}

// count notes what a cargo has cost, once for all connections that it went to.
func (l *cargos) count(c *cargo) {
	for i := range c.values {
		if x := &c.values[i]; x.kind != ofTheGame {
			l.sent[x.kind][x.variable] += c.sends * uint64(x.size)
		}
	}
}

// give takes back one reference.
func (l *cargos) give(c *cargo) {
	if c == nil {
		return
	}
	if c.refs--; c.refs > 0 {
		return
	}
	if c.sends > 0 {
		l.count(c)
	}
	if i := cargoClass(cap(c.values)); l.spare[i].Len() < maxSpareCargos>>i {
		l.spare[i].Give(c)
	}
}
