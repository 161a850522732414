package world

import (
	"encoding/binary"
	"math"
)

// An item is one thing that happened in a tick, in the order in which it was submitted:
//
//	item      code u8: kind (4 bits), and flags
//	            0x80  it has an origin: its request, v more than the one before of that node in the entry
//	            0x40  and that is of another node than the one before: its index v
//	            0x20  it is for another tick than the entry's: i ticks later
//	            0x10  it was for an earlier tick, and is done at this one: v ticks after the one that was asked for
//	          in this order, and by kind
//	 1 join     player v, name t
//	 2 leave    player v
//	 3 steer    player v, flags u8 (1 place, 2 angle, 4 norm, 8 the place was told, 16 it is a whole cell, 32 entity, 64 shown), and as they
//	            say entity u64, x f64, y f64, angle f32, norm f32, shown
//	 4 act      player v, action v, temporary number v (65,536 more: shown follows it), shown, values
//	 5 away     player v
//	 6 back     player v
//	 7 session  player v, hash of the token 32 bytes, serial of the ticket 16 bytes, when that expires i
//	 8 known    player v, u8 1 if it was the newest of two tokens
//	 9 chat     player v, text t
//	10 say      text t
//	11 kick     player v, text t
//	12 answer   reason u8
//	13 version  text t
//	14 end      text t
//	15 node     u64; it has no flags, and the item behind it is of that node
//
// shown is how many ticks before the tick of its input it is, i. It is never tick 0.
//
// The node that made the entry has the index 0, and those of node items have 1, 2, 3 …
const (
	flagOrigin = 0x80
	flagNode   = 0x40
	flagTick   = 0x20
	flagPutOff = 0x10
	kindMask   = 0x0f

	codeNode = 15
)

// An ItemKind is the kind of an item of an entry.
type ItemKind uint8

// The kinds of items.
const (
	ItemInput   ItemKind = iota + 6 // an input of Step: Item.Input
	ItemSession                     // a player was told a token: Item.Session
	ItemKnown                       // a player's client has shown that it has a token
	ItemChat                        // a player says Item.Text
	ItemSay                         // the operator says Item.Text
	ItemKick                        // a player is sent away, with the reason Item.Text
	ItemAnswer                      // the request of Item.Origin was refused, with Item.Reason
	ItemVersion                     // from here on the game is of the version Item.Text
	ItemEnd                         // the room ends with the result Item.Text
)

var itemNames = [...]string{"unset", "unset", "unset", "unset", "unset", "unset", "input", "session", "known", "chat", "say", "kick", "answer", "version", "end"}

func (k ItemKind) String() string { return nameIn(itemNames[:], int(k)) }

// hasPlayer reports whether an item that is no input is about a player.
func (k ItemKind) hasPlayer() bool {
	return k == ItemSession || k == ItemKnown || k == ItemChat || k == ItemKick
}

// An Origin says from where a request came: from which run of which server, and which of its requests it is, from 1. The zero Origin is
// the server's that makes the log.
type Origin struct{ Node, Request uint64 }

// An Item is one thing that happened in a tick.
type Item struct {
	Kind    ItemKind
	Origin  Origin
	Player  PlayerID // 0 for those of no player
	Input   Input    // for ItemInput
	Session Session  // for ItemSession
	Text    []byte   // for ItemChat, ItemSay, ItemKick, ItemVersion and ItemEnd
	Reason  Reason   // for ItemAnswer

	// Tag is for the owner of the Sim, who may set it before Apply: the events of the input then have it.
	Tag uint32

	putOff uint64 // how many ticks after the one that was asked for it is done
	newest bool   // for ItemKnown
}

// origins is what writing and reading an entry's origins need to know of the items before.
type origins struct {
	nodes    []uint64
	requests []uint64 // of each, the last
	last     int
}

func (o *origins) reset(node uint64) {
	o.nodes, o.requests, o.last = append(o.nodes[:0], node), append(o.requests[:0], 0), 0
}

func (o *origins) add(node uint64) {
	o.nodes, o.requests = append(o.nodes, node), append(o.requests, 0)
}

// find returns the index of a node, or how many there are.
func (o *origins) find(node uint64) int {
	for i, n := range o.nodes {
		if n == node {
			return i
		}
	}
	return len(o.nodes)
}

// appendCode begins an item. later and putOff are for inputs.
func (o *origins) appendCode(b []byte, code byte, from Origin, later int64, putOff uint64) []byte {
	index := o.last
	if from.Request != 0 {
		code |= flagOrigin
		if index = o.find(from.Node); index == len(o.nodes) {
			b = binary.LittleEndian.AppendUint64(append(b, codeNode), from.Node)
			o.add(from.Node)
		}
		code |= bitIf(index != o.last, flagNode)
	}
	code |= bitIf(later != 0, flagTick) | bitIf(putOff != 0, flagPutOff)
	b = append(b, code)
	if code&flagNode != 0 {
		b = binary.AppendUvarint(b, uint64(index))
	}
	if code&flagOrigin != 0 {
		b = binary.AppendUvarint(b, from.Request-o.requests[index])
		o.requests[index], o.last = from.Request, index
	}
	if later != 0 {
		b = binary.AppendVarint(b, later)
	}
	if putOff != 0 {
		b = binary.AppendUvarint(b, putOff)
	}
	return b
}

// code reads the beginning of an item, and the node before it, which is the item's.
func (o *origins) code(r *reading, it *Item) (code byte, later int64) {
	code = r.u8()
	fresh := code == codeNode
	if fresh {
		node := r.u64()
		r.failed = r.failed || len(o.nodes) >= maxNodes || o.find(node) < len(o.nodes)
		o.add(node)
		code = r.u8()
	}
	index := o.last
	if code&flagNode != 0 {
		index = r.int(len(o.nodes) - 1)
		r.failed = r.failed || index == o.last || code&flagOrigin == 0
	}
	r.failed = r.failed || fresh && index != len(o.nodes)-1
	if code&flagOrigin != 0 {
		request := o.requests[index] + r.v()
		r.failed = r.failed || request == 0 || request < o.requests[index]
		o.requests[index], o.last = request, index
		it.Origin = Origin{o.nodes[index], request}
	}
	if code&flagTick != 0 {
		later = r.i()
		r.failed = r.failed || later == 0
	}
	if code&flagPutOff != 0 {
		it.putOff = r.v()
		r.failed = r.failed || it.putOff == 0
	}
	return code & kindMask, later
}

const (
	hasPlace  = 1
	hasAngle  = 2
	hasNorm   = 4
	wasTold   = 8
	isCell    = 16
	hasEntity = 32
	hasShown  = 64

	// actShown beside the temporary number of an act says that a tick follows that was shown.
	actShown = 1 << 16
)

// appendInput writes what is an input's own.
func appendInput(b []byte, in *Input) []byte {
	b = binary.AppendUvarint(b, uint64(in.Player))
	switch in.Kind {
	case Join:
		b = appendText(b, in.Name)
	case Steer:
		st := &in.Steer
		b = append(b, bitIf(st.HasPlace, hasPlace)|bitIf(st.HasAngle, hasAngle)|bitIf(st.HasNorm, hasNorm)|
			bitIf(st.Told, wasTold)|bitIf(st.Cell, isCell)|bitIf(st.Entity != 0, hasEntity)|bitIf(in.Shown != 0, hasShown))
		if st.Entity != 0 {
			b = binary.LittleEndian.AppendUint64(b, uint64(st.Entity))
		}
		if st.HasPlace {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(st.X))
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(st.Y))
		}
		if st.HasAngle {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(st.Angle))
		}
		if st.HasNorm {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(st.Norm))
		}
		b = in.appendShown(b)
	case Act:
		b = binary.AppendUvarint(b, uint64(in.Action.Number))
		temp := uint64(in.temp)
		if in.Shown != 0 {
			temp |= actShown
		}
		b = in.appendShown(binary.AppendUvarint(b, temp))
		for i := range in.Action.Fields {
			b = appendValue(b, in.params[i])
		}
	}
	return b
}

func (in *Input) appendShown(b []byte) []byte {
	if in.Shown == 0 {
		return b
	}
	return binary.AppendVarint(b, int64(in.Tick-in.Shown))
}

// shown reads what appendShown wrote, of an input whose tick is known.
func (r *reading) shown(in *Input) {
	in.Shown = in.Tick - uint64(r.i())
	r.failed = r.failed || in.Shown == 0
}

// input reads what is an input's own. The parameters are put into a list.
func (r *reading) input(in *Input, s *Schema, list *[]params) {
	in.Player = r.player()
	switch in.Kind {
	case Join:
		in.Name = r.text()
		r.failed = r.failed || fitText(in.Name, maxNameBytes) != in.Name
	case Steer:
		if r.steering(&in.Steer) {
			r.shown(in)
		}
		r.failed = r.failed || !in.Steer.finite()
	case Act:
		in.Action = s.Action(r.int(maxActions))
		temp := r.upTo(2*actShown - 1)
		if in.temp = uint16(temp); temp&actShown != 0 {
			r.shown(in)
		}
		if in.Action == nil {
			r.failed = true
			return
		}
		*list = append(*list, params{})
		in.params = &(*list)[len(*list)-1]
		for i, f := range in.Action.Fields {
			in.params[i] = r.value(f.Type)
			r.failed = r.failed || len(in.params[i].text) > f.Max
		}
	}
}

// steering reads a steering, and reports whether the tick follows that was shown.
func (r *reading) steering(st *Steering) (shown bool) {
	flags := r.u8()
	st.HasPlace, st.HasAngle, st.HasNorm = flags&hasPlace != 0, flags&hasAngle != 0, flags&hasNorm != 0
	st.Told, st.Cell = flags&wasTold != 0, flags&isCell != 0
	if flags&hasEntity != 0 {
		st.Entity = ID(r.u64())
		r.failed = r.failed || st.Entity == 0
	}
	if st.HasPlace {
		st.X, st.Y = math.Float64frombits(r.u64()), math.Float64frombits(r.u64())
	}
	if st.HasAngle {
		st.Angle = math.Float32frombits(r.u32())
	}
	if st.HasNorm {
		st.Norm = math.Float32frombits(r.u32())
	}
	r.failed = r.failed || flags >= 2*hasShown
	return flags&hasShown != 0
}

// item reads an item of an entry of a tick.
func (r *reading) item(it *Item, o *origins, tick uint64, s *Schema, list *[]params) {
	code, later := o.code(r, it)
	if code <= byte(Back) {
		it.Kind = ItemInput
		it.Input.Kind, it.Input.Tick = InputKind(code), tick+uint64(later)
		r.input(&it.Input, s, list)
		it.Player = it.Input.Player
		r.failed = r.failed || code == 0 || later < 0 && tick < uint64(-later)
		return
	}
	it.Kind = ItemKind(code)
	r.failed = r.failed || code == codeNode || later != 0 || it.putOff != 0
	if it.Kind.hasPlayer() {
		it.Player = r.player()
	}
	switch it.Kind {
	case ItemSession:
		it.Session.read(r)
	case ItemKnown:
		it.newest = r.upTo(1) == 1
	case ItemAnswer:
		it.Reason = Reason(r.upTo(uint64(Later)))
		r.failed = r.failed || it.Origin.Request == 0
	case ItemEnd:
		it.Text = r.bytes()
		r.failed = r.failed || len(r.b) > 0 // it is the last
	default:
		it.Text = r.bytes()
	}
}
