package picture

import (
	"slices"
	"time"

	"parley/play/message"
	"parley/protocol/replica"
	replicacore "parley/protocol/replica/core"
	"parley/world"
)

// Replica reads what a server tells over replica, and writes what the player does. The connection needs replica.Config.Detail.
//
// Values are of the tick whose message has the number before that of their packet. Events do not come in the order of numbers, so that
// packets wait for that message. A value that was lost comes again some ticks later: of the own entity, which is compared with what was
// predicted, it has to be known which values may be old. See doubts.
type Replica struct {
	core    *Core
	send    func(mode replica.Mode, name string, data []byte) error
	kinds   map[uint16]*replicaKind // by link
	packets []replicaPacket         // that wait, by number
	touched []*replicaSlot          // by the packets that are read
	you     message.Link
	known   bool // you is
	own     *replicaSlot
	numbers [64]replicaTick // the newest, by tick
	newest  uint64          // number of a tick's message
	tick    uint64          // and the tick
	silence int             // ticks in a row that brought nothing of the own entity
	buf     []byte
}

type replicaPacket struct {
	number uint64
	data   []byte
}

// replicaTick is the number of the message that names a tick.
type replicaTick struct{ tick, number uint64 }

type replicaKind struct {
	kind   *world.Kind
	fields []replicaVariable // by link
	slots  [256]*replicaSlot
}

// replicaVariable is what a variable holds: the number of the entity, or a field, or two.
type replicaVariable struct {
	entity       bool
	known        bool
	first, count int
}

// replicaSlot is an entity in sight.
type replicaSlot struct {
	kind    *replicaKind
	wire    uint16
	values  []world.Value
	numbers []uint64 // by variable: the number of the packet of its value plus one; 0 if there is none
	doubts  []uint64 // by variable: the tick from which on its value is the newest again, if it was not told until then
	since   uint64   // what has a lower number is of another entity that was here
	dirty   bool
}

// NewReplica makes a reader for a new connection of a core. send must not block.
func NewReplica(c *Core, send func(mode replica.Mode, name string, data []byte) error) *Replica {
	r := &Replica{core: c, send: send, kinds: map[uint16]*replicaKind{}}
	c.voice = r
	return r
}

// Read takes an event of the connection.
func (r *Replica) Read(now time.Time, ev replica.Event) {
	c := r.core
	switch ev.Kind {
	case replica.EventLinked:
		r.link(ev.Data)
	case replica.EventReplicated:
		r.hold(now, ev)
	case replica.EventGone:
		r.gone(ev)
	case replica.EventMessage:
		switch name := string(ev.Name); name {
		case message.ReplicaWorld:
			w, ok := message.ParseWorld(ev.Data, message.Little)
			c.entered(now, w, ok)
			_ = r.send(replica.Reliable, message.ReplicaMembers, nil) // without it there are no names
		case message.ReplicaYou:
			if you, ok := message.ParseLink(ev.Data); ok {
				r.you, r.known = you, true
				r.find()
			}
		case message.ReplicaTick:
			if f, rest, ok := message.ParseFate(ev.Data, message.Little); ok && len(rest) == 0 {
				r.fate(now, f, ev.Number)
			}
		case message.ReplicaChat:
			c.said(message.ParseSaid(ev.Data))
		case message.ReplicaMembers:
			c.members(ev.Data, message.Little)
		case message.ReplicaTerrain:
			c.chunk(message.ParseChunk(ev.Data, message.Little))
		default:
			r.done(name, ev.Data)
		}
	}
}

// done reads the message of an action.
func (r *Replica) done(name string, b []byte) {
	c := r.core
	a := c.schema.ActionNamed(name)
	if a == nil {
		return
	}
	d, ok := message.ParseReplicaDone(a, b)
	if !ok {
		return
	}
	wire := uint16(0)
	if s := r.slot(d.Actor.Kind, d.Actor.ID); s != nil {
		wire = s.wire
	}
	c.acted(wire, c.tickOf(d.Tick), a, d.Params[:len(a.Fields)])
}

// link learns which links mean what.
func (r *Replica) link(b []byte) {
	t, ok := replicacore.ParseTable(b)
	if !ok {
		return
	}
	for e := range t.Entities() {
		i := slices.IndexFunc(r.core.schema.Kinds, func(k *world.Kind) bool { return k.Name == string(e.Name) })
		if i < 0 {
			continue
		}
		k := r.kinds[e.Link]
		if k == nil && len(r.kinds) >= 2*len(r.core.schema.Kinds) {
			continue // a server has one link for each kind
		}
		if k == nil || k.kind != r.core.schema.Kinds[i] {
			k = &replicaKind{kind: r.core.schema.Kinds[i]}
			r.kinds[e.Link] = k
		}
		for v := range e.Variables() {
			if v.Link > 255 {
				continue
			}
			for len(k.fields) <= int(v.Link) {
				k.fields = append(k.fields, replicaVariable{})
			}
			k.fields[v.Link] = k.variable(string(v.Name))
		}
	}
}

// variable finds what a variable of a kind holds.
func (k *replicaKind) variable(name string) (v replicaVariable) {
	if name == message.ReplicaEntity {
		return replicaVariable{entity: true, known: true}
	}
	for i := range k.kind.Fields {
		if message.VariableName(k.kind, i) == name {
			if !v.known {
				v = replicaVariable{known: true, first: i}
			}
			v.count++
		}
	}
	return v
}

// hold keeps a packet of values until it is known of which tick it is. The oldest is of the newest tick if there are too many.
func (r *Replica) hold(now time.Time, ev replica.Event) {
	at, _ := slices.BinarySearchFunc(r.packets, ev.Number, func(p replicaPacket, n uint64) int {
		if p.number < n {
			return -1
		}
		return 1
	})
	r.packets = slices.Insert(r.packets, at, replicaPacket{ev.Number, ev.Data})
	if len(r.packets) > maxPackets || !r.core.begun || ev.Number < r.newest {
		r.release(r.packets[0].number + 1) // nothing is to come that would say it better
		return
	}
	// What follows the newest tick's packets is of that tick too, and may have the own entity.
	c := r.core
	if r.follow() {
		c.pending.waits = c.pending.waits || c.pending.tick == r.tick && r.silence == 0
		c.settle(now, true)
	}
}

// fate takes the message that names a tick. The packets that follow it are of that tick, as far as their numbers do.
func (r *Replica) fate(now time.Time, f message.Fate, number uint64) {
	c := r.core
	tick := c.tickOf(f.Tick)
	r.numbers[tick%uint64(len(r.numbers))] = replicaTick{tick, number}
	if tick <= r.tick && r.tick != 0 {
		c.hears(now, tick)
		return
	}
	c.settle(now, true) // of the tick before
	r.release(number)
	gap := r.tick != 0 && tick > r.tick+1
	r.tick, r.newest = tick, number
	r.before(tick, gap)
	more := r.follow()
	c.fate(now, f, !more)
}

// follow reads the packets that follow the newest tick's message, and reports whether there was one.
func (r *Replica) follow() (more bool) {
	if r.newest == 0 {
		return false
	}
	from := r.newest
	for {
		i := slices.IndexFunc(r.packets, func(p replicaPacket) bool { return p.number == from+1 })
		if i < 0 {
			break
		}
		more = true
		r.take(r.packets[i])
		r.packets = slices.Delete(r.packets, i, i+1)
		from++
	}
	if more {
		r.put(r.tick)
		r.newest = from
	}
	return more
}

// release reads the packets with lower numbers, which are of ticks before.
func (r *Replica) release(number uint64) {
	n := 0
	for ; n < len(r.packets) && r.packets[n].number < number; n++ {
		r.take(r.packets[n])
		r.put(r.tickOfNumber(r.packets[n].number))
	}
	r.packets = slices.Delete(r.packets, 0, n)
}

// tickOfNumber returns the tick that a packet is of: the one whose message has the next lower number. If the message of the tick after it
// was lost, it is that one.
func (r *Replica) tickOfNumber(number uint64) uint64 {
	best := replicaTick{}
	for _, t := range r.numbers {
		if t.number < number && t.number >= best.number && t.tick != 0 {
			best = t
		}
	}
	if best.tick == 0 {
		return r.core.newest
	}
	if next := r.numbers[(best.tick+1)%uint64(len(r.numbers))]; next.tick != best.tick+1 && best.tick < r.tick {
		return best.tick + 1
	}
	return best.tick
}

// take reads a packet of values.
func (r *Replica) take(p replicaPacket) {
	values, ok := replicacore.ParseValues(p.data)
	if !ok {
		return
	}
	for v := range values.EntityValues() {
		k := r.kinds[v.Entity]
		if k == nil || int(v.Variable) >= len(k.fields) || !k.fields[v.Variable].known {
			continue
		}
		s := k.slots[v.ID]
		if s == nil {
			s = &replicaSlot{kind: k, values: make([]world.Value, len(k.kind.Fields))}
			k.slots[v.ID] = s
		}
		if p.number < s.since {
			continue
		}
		for len(s.numbers) < len(k.fields) {
			s.numbers, s.doubts = append(s.numbers, 0), append(s.doubts, 0)
		}
		if s.numbers[v.Variable] > p.number+1 || !s.read(int(v.Variable), v.Data) {
			continue
		}
		s.numbers[v.Variable], s.doubts[v.Variable] = p.number+1, 0
		if !s.dirty {
			s.dirty = true
			r.touched = append(r.touched, s)
		}
	}
}

// read takes the value of a variable, if it can be one.
func (s *replicaSlot) read(variable int, b []byte) bool {
	v, k := s.kind.fields[variable], s.kind.kind
	switch {
	case v.entity:
		if len(b) != 2 {
			return false
		}
		s.wire = uint16(b[0]) | uint16(b[1])<<8
		return true
	case k.Fields[v.first].Type == world.Text:
		s.values[v.first] = world.TextValue(cut(b, k.Fields[v.first].Max))
		return true
	}
	for i := v.first; i < v.first+v.count; i++ {
		value, ok := message.ParseVariable(k, i, b)
		if !ok {
			return false
		}
		s.values[i] = value
	}
	return true
}

// whole reports whether all variables are known.
func (s *replicaSlot) whole() bool {
	for i, n := range s.numbers {
		if n == 0 && s.kind.fields[i].known {
			return false
		}
	}
	return len(s.numbers) > 0 && s.wire != 0
}

// put tells the core of what packets have changed.
func (r *Replica) put(tick uint64) {
	for _, s := range r.touched {
		if s.dirty = false; s == r.own && tick == r.tick {
			r.silence = 0
			r.putOwn(tick)
		} else if s.whole() {
			r.core.put(tick, s.wire, s.kind.kind, s.values, 0)
		}
	}
	r.touched = r.touched[:0]
	if r.known && r.own == nil {
		r.find()
	}
}

// before notes, when a tick begins, that values may have been lost: those of the ticks between, until they have come again, and those of
// this tick if it brings nothing of the own entity, which is for once likely to be lost.
func (r *Replica) before(tick uint64, gap bool) {
	s := r.own
	if s == nil {
		return
	}
	if gap {
		// What was lost comes again after a round trip and a few ticks. That is about how far the client is ahead.
		again := max(4, min(r.core.mine.tick-min(r.core.mine.tick, tick)+4, 40))
		for i := range s.doubts {
			s.doubts[i] = tick + again
		}
	}
	r.silence++
	r.putOwn(tick)
}

// putOwn tells of the own entity, and what of it may be old.
func (r *Replica) putOwn(tick uint64) {
	s := r.own
	if !s.whole() {
		return
	}
	doubt := uint64(0)
	for i, v := range s.kind.fields {
		if v.known && !v.entity && (s.doubts[i] > tick || r.silence > 0 && r.silence <= 2) {
			doubt |= (1<<v.count - 1) << v.first
		}
	}
	if doubt == 0 || r.core.predicts() {
		r.core.put(tick, s.wire, s.kind.kind, s.values, doubt)
	}
}

// find finds the own entity, once its number has come.
func (r *Replica) find() {
	s := r.slot(r.you.Kind, r.you.ID)
	if r.known && s != nil && s.whole() {
		r.own = s
		r.core.you(s.wire)
	}
}

func (r *Replica) slot(link uint16, id uint8) *replicaSlot {
	if k := r.kinds[link]; k != nil {
		return k.slots[id]
	}
	return nil
}

// gone empties a slot. What overtook the message is of the slot's next entity.
func (r *Replica) gone(ev replica.Event) {
	s := r.slot(ev.KindLink, ev.ID)
	if s == nil {
		return
	}
	r.release(ev.Number) // what was told before
	if s.since <= ev.Number && s.wire != 0 {
		r.core.gone(r.core.newest, s.wire)
	}
	left := false
	for i, n := range s.numbers {
		if n <= ev.Number {
			s.numbers[i] = 0
		}
		left = left || s.numbers[i] != 0
	}
	if s.since = max(s.since, ev.Number); !left {
		s.wire = 0
	}
	if s == r.own {
		r.own = nil
	}
}

func (r *Replica) steer(_ time.Time, angle, norm float32, s message.Stamp) error {
	r.buf = s.AppendTo(message.AppendSteer(r.buf[:0], angle, norm, message.Little), message.Little)
	return r.send(replica.Unreliable, message.ReplicaSteer, r.buf)
}

// act sends an action reliably, and a copy of it that waits for nobody: of the two, the server does the first that comes.
func (r *Replica) act(_ time.Time, a *world.Action, params []world.Value, s message.Stamp, again bool) error {
	r.buf = s.AppendTo(message.AppendParams(r.buf[:0], a.Fields, params, message.Little), message.Little)
	if again {
		return r.send(replica.Unreliable, a.Name, r.buf)
	}
	err := r.send(replica.Reliable, a.Name, r.buf)
	if err == nil {
		_ = r.send(replica.Unreliable, a.Name, r.buf) // the first is on its way
	}
	return err
}

func (r *Replica) say(text string) error {
	return r.send(replica.Ordered, message.ReplicaChat, []byte(text))
}
