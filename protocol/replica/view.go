package replica

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"parley/internal/reliable"
)

// ErrNoSlot means that a client sees 256 entities of a kind already.
var ErrNoSlot = errors.New("replica: no slot: a client sees at most 256 entities of a kind")

// view is what one client sees: slots of its own for each kind, and of each value
// the version that was sent last. "A client that falls silent costs no more than
// one value a variable."
type view struct {
	kinds   map[uint16]*slots
	seen    map[*Entity]*slot
	order   []*slot  // all that are shown, to go round
	at      int      // where the last round ended
	sent    []uint64 // of the variables of the game, by link
	going   []*slot  // to be announced as gone
	batches []batch
	free    []int
	buf     []byte
	pool    []value
	ranked  []uint64 // of the pool: where a value stands in a packet, and its index
}

type slots struct {
	used  [256]*slot
	next  uint8
	spare []*slot // that clients know to be gone, to be used again
}

// slot is a place of a kind in one client's view. It is taken from Show until the
// client has acknowledged that the entity is gone.
type slot struct {
	entity *Entity
	kind   uint16
	id     uint8
	sent   []uint64 // version of each variable as sent last; 0 if lost or never
	upto   uint64   // entity.version when all was sent and nothing lost since
	index  int      // in order
}

// batch is what one packet carried: values, or slots that are gone.
type batch struct {
	values []sentValue
	gone   []*slot
	used   bool
}

type sentValue struct {
	slot     *slot // nil for a variable of the game
	variable uint16
	version  uint64
}

// value is one that is to be sent.
type value struct {
	slot     *slot
	variable uint16
	version  uint64
	data     []byte
}

// Show lets the client see an entity, or says that its kind has no slot left.
func (c *Conn) Show(e *Entity) error {
	v := c.openView()
	if v.seen[e] != nil || e.removed {
		return nil
	}
	ks := v.kinds[e.kind]
	if ks == nil {
		ks = new(slots)
		v.kinds[e.kind] = ks
	}
	for range len(ks.used) {
		id := ks.next
		ks.next++
		if ks.used[id] != nil {
			continue
		}
		s := ks.take(len(e.versions))
		s.entity, s.kind, s.id, s.index = e, e.kind, id, len(v.order)
		ks.used[id] = s
		v.seen[e] = s
		v.order = append(v.order, s)
		return nil
	}
	return ErrNoSlot
}

// take returns a slot of which nothing was sent. A packet that is still under way may have carried
// values of whoever had it before: no value has a version that another ever had, so what becomes of
// that packet is of no account to the next.
func (ks *slots) take(variables int) *slot {
	n := len(ks.spare)
	if n == 0 {
		return &slot{sent: make([]uint64, variables)}
	}
	s := ks.spare[n-1]
	ks.spare = ks.spare[:n-1]
	clear(s.sent)
	*s = slot{sent: s.sent}
	return s
}

// Hide takes an entity out of the client's sight.
func (c *Conn) Hide(e *Entity) {
	if c.view == nil {
		return
	}
	if s := c.view.seen[e]; s != nil {
		c.view.hide(s)
	}
}

// Sees returns the id under which the client sees an entity.
func (c *Conn) Sees(e *Entity) (id uint8, ok bool) {
	if c.view == nil || c.view.seen[e] == nil {
		return 0, false
	}
	return c.view.seen[e].id, true
}

func (v *view) hide(s *slot) {
	delete(v.seen, s.entity)
	last := v.order[len(v.order)-1]
	v.order[s.index] = last
	last.index = s.index
	v.order = v.order[:len(v.order)-1]
	s.entity = nil
	v.going = append(v.going, s)
}

func (c *Conn) openView() *view {
	if c.view == nil {
		c.view = &view{kinds: map[uint16]*slots{}, seen: map[*Entity]*slot{}}
	}
	return c.view
}

// Replicate sends what has changed since it was sent last, or was lost, at its
// newest: at most budget bytes of packets, going round so that nothing starves.
// Call it once a tick. It sends nothing that the client has not linked.
func (c *Conn) Replicate(budget int) {
	now := c.mux.now
	if c.mayTalk() != nil || !c.link.isFinished() {
		return
	}
	c.now = now
	v := c.openView()
	c.nextTable()
	v.sweep()
	c.sendGone(now)
	c.collect(budget)
	c.sendValues(now, budget)
	c.mux.conns.Touch(c)
}

// sweep hides what was removed.
func (v *view) sweep() {
	for i := len(v.order) - 1; i >= 0; i-- {
		if v.order[i].entity.removed {
			v.hide(v.order[i])
		}
	}
}

// sendGone announces slots that were left: "a reliable, unordered message named
// `parley.gone`, one or more of (entity link id u16, entity id u8)".
func (c *Conn) sendGone(now time.Time) {
	v := c.view
	for len(v.going) > 0 {
		n := min(len(v.going), (maxPacketBytes-messageOverhead-len(goneName))/goneBytes)
		data := v.buf[:0]
		for _, s := range v.going[:n] {
			data = binary.LittleEndian.AppendUint16(data, s.kind)
			data = append(data, s.id)
		}
		v.buf = data
		p := Packet{Kind: KindMessage, Reliable: true, Sequence: uint16(c.sender.Next()), Time: c.ServerTime(now), Name: []byte(goneName), Data: data}
		tag := v.newBatch()
		b := &v.batches[tag]
		b.gone = append(b.gone[:0], v.going[:n]...)
		if c.sendReliable(now, &p, messageOverhead+len(goneName)+len(data), reliable.Options{Tag: uint32(tag) + 1}) != nil {
			v.endBatch(tag)
			return
		}
		v.going = append(v.going[:0], v.going[n:]...)
	}
}

const (
	goneName  = "parley.gone"
	goneBytes = 3
)

// collect finds what the client lacks, oldest round first, up to what the budget
// can hold at best.
func (c *Conn) collect(budget int) {
	v := c.view
	v.pool = v.pool[:0]
	s := c.store
	for len(v.sent) < len(s.variables) {
		v.sent = append(v.sent, 0)
	}
	left := budget
	for i := range s.variables {
		if x := &s.variables[i]; x.version > v.sent[i] && c.link.linked(x.item) {
			left -= 3 + len(x.data)
			v.pool = append(v.pool, value{nil, uint16(i), x.version, x.data})
		}
	}
	for n := len(v.order); n > 0 && left > 0 && len(v.pool) < maxPool; n-- {
		if v.at >= len(v.order) {
			v.at = 0
		}
		left -= c.collectSlot(v.order[v.at])
		v.at++
	}
}

// collectSlot adds what one slot lacks and returns how many bytes that takes at
// least.
func (c *Conn) collectSlot(s *slot) (size int) {
	e := s.entity
	if s.upto == e.version {
		return 0
	}
	first := c.store.kinds[e.kind].firstItem
	all := true
	for i, version := range e.versions {
		switch {
		case version <= s.sent[i]:
		case !c.link.linked(first + i):
			all = false
		default:
			size += 2 + len(e.data[i])
			c.view.pool = append(c.view.pool, value{s, uint16(i), version, e.data[i]})
		}
	}
	if size == 0 && all {
		s.upto = e.version
	}
	return size
}

// maxPool bounds what one call of Replicate looks at: an index has so many bits in a rank.
const (
	poolBits = 22
	maxPool  = 1<<poolBits - maxKindVariables
)

// rank sorts what was collected so that links are written once, and entities come first:
//
//	of no entity 1 bit | kind 16 | variable 16 | id 8 | index in the pool 22
func (v *view) rank() {
	v.ranked = v.ranked[:0]
	for i := range v.pool {
		x := &v.pool[i]
		key := uint64(x.variable)<<8<<poolBits | uint64(i)
		if x.slot == nil {
			key |= 1 << 63
		} else {
			key |= (uint64(x.slot.kind)<<24 | uint64(x.slot.id)) << poolBits
		}
		v.ranked = append(v.ranked, key)
	}
	slices.Sort(v.ranked)
}

// sendValues writes what was collected.
func (c *Conn) sendValues(now time.Time, budget int) {
	v := c.view
	v.rank()
	for rest := v.ranked; len(rest) > 0 && budget > 0; {
		size := min(maxPacketBytes, max(budget, minReplicateBytes))
		if c.sender.Ready(size) != nil {
			return
		}
		n, bytes := c.sendOne(now, rest, size)
		if n == 0 {
			return
		}
		rest = rest[n:]
		budget -= bytes
	}
}

// minReplicateBytes is room for one value of the largest size.
const minReplicateBytes = 13 + 8 + MaxValueBytes

// sendOne fills one packet and returns how many values and bytes it took.
// "Packets are sent reliable so that acks tell what arrived, but a lost one ...
// is not resent byte for byte".
func (c *Conn) sendOne(now time.Time, ranked []uint64, size int) (n, bytes int) {
	v := c.view
	buf := c.buffers.Take(maxPacketBytes)
	defer c.buffers.Give(buf)
	var w ReplicateWriter
	w.Start(buf[:0], &Packet{Kind: KindReplicate, Reliable: true, Sequence: uint16(c.sender.Next()), Time: c.ServerTime(now)}, size)
	for n < len(ranked) {
		x := &v.pool[ranked[n]&(1<<poolBits-1)]
		if x.slot != nil && !w.Add(x.slot.kind, x.variable, x.slot.id, x.data) || x.slot == nil && !w.Variable(x.variable, x.data) {
			break
		}
		n++
	}
	if n == 0 {
		return 0, 0
	}
	tag := v.newBatch()
	if c.sender.Send(now, w.Bytes(), reliable.Options{Report: true, Tag: uint32(tag) + 1}) != nil {
		v.endBatch(tag)
		return 0, 0
	}
	b := &v.batches[tag]
	for _, r := range ranked[:n] {
		x := &v.pool[r&(1<<poolBits-1)]
		b.values = append(b.values, sentValue{x.slot, x.variable, x.version})
		if x.slot == nil {
			v.sent[x.variable] = x.version
		} else {
			x.slot.sent[x.variable] = x.version
		}
	}
	return n, len(w.Bytes())
}

func (v *view) newBatch() int {
	if n := len(v.free); n > 0 {
		tag := v.free[n-1]
		v.free = v.free[:n-1]
		v.batches[tag].used = true
		return tag
	}
	v.batches = append(v.batches, batch{used: true})
	return len(v.batches) - 1
}

func (v *view) endBatch(tag int) {
	b := &v.batches[tag]
	clear(b.values)
	clear(b.gone)
	b.values, b.gone, b.used = b.values[:0], b.gone[:0], false
	v.free = append(v.free, tag)
}

// settled takes the fate of a packet that carried values or slots that are gone.
func (v *view) settled(tag int, arrived bool) {
	b := &v.batches[tag]
	if !arrived {
		v.again(b)
	}
	for _, s := range b.gone {
		// "the server reuses a slot only after the message is acknowledged"
		if ks := v.kinds[s.kind]; arrived && ks.used[s.id] == s {
			ks.used[s.id] = nil
			ks.spare = append(ks.spare, s)
		}
	}
	v.endBatch(tag)
}

// again makes what a lost packet carried be sent at its newest, unless a newer
// value was sent since.
func (v *view) again(b *batch) {
	for _, x := range b.values {
		switch {
		case x.slot == nil:
			if v.sent[x.variable] == x.version {
				v.sent[x.variable] = 0
			}
		case x.slot.entity != nil && x.slot.sent[x.variable] == x.version:
			x.slot.sent[x.variable] = 0
			x.slot.upto = 0
		}
	}
}
