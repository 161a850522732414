package message

import (
	"encoding/binary"

	"parley/world"
)

// The names of replica's messages. In addition, each action has a message with the action's name: its parameters,
// and from the client a Stamp or nothing.
const (
	ReplicaPass    = "parley.pass"    // from the client: a pass
	ReplicaYou     = "parley.you"     // from the server: the Link of the client's own entity
	ReplicaSession = "parley.session" // from the server: Session, reliable
	ReplicaWorld   = "parley.world"   // from the server: World, ordered
	ReplicaTick    = "parley.tick"    // from the server: Fate, unreliable
	ReplicaMembers = "parley.player"  // from the client: nothing, it wants to be told of members; from the server: Members, one or more, ordered
	ReplicaMoved   = "parley.moved"   // from the server: AppendMoved, reliable
	ReplicaSteer   = "steer"          // from the client: AppendSteer, then a Stamp or nothing
	ReplicaChat    = "chat"           // from the client: text; from the server: AppendSaid
	ReplicaTerrain = "terrain"        // from the client: AppendPlace; from the server: AppendChunk
)

// ReplicaEntity is the first variable of each kind in the link table: the number of the entity. Entities refer to each other by
// this number, as the ids of links differ from client to client.
const ReplicaEntity = "entity"

// ReplicaPlace is the second variable of a kind whose Body has the tag q=: x in the lower half of its bits, y in the
// upper. They mostly change together, and so share the id and the size that each value has.
const ReplicaPlace = "x,y"

// Variable is a variable of a kind in the link table.
type Variable struct {
	Name string
	Type world.Type
}

// Variables returns the variables of a kind: ReplicaEntity first, then its fields.
func Variables(k *world.Kind) []Variable {
	list := []Variable{{ReplicaEntity, world.U16}}
	rest := k.Fields
	if sharesPlace(k) {
		wide := map[int]world.Type{2: world.U16, 4: world.U32, 8: world.U64}
		list = append(list, Variable{ReplicaPlace, wide[2*k.Fields[world.FieldX].Wire.Bytes()]})
		rest = rest[world.FieldY+1:]
	}
	for i := range rest {
		list = append(list, Variable{rest[i].Name, rest[i].Wire})
	}
	return list
}

func sharesPlace(k *world.Kind) bool { return k.HasBody && k.Fields[world.FieldX].Step != 0 }

// VariableOf returns the place of a field's variable in Variables, and how many fields share it.
func VariableOf(k *world.Kind, field int) (at, shared int) {
	switch {
	case !sharesPlace(k):
		return 1 + field, 1
	case field <= world.FieldY:
		return 1, 2
	}
	return field, 1
}

// VariableName returns the name of a field's variable.
func VariableName(k *world.Kind, field int) string {
	if _, shared := VariableOf(k, field); shared > 1 {
		return ReplicaPlace
	}
	return k.Fields[field].Name
}

// AppendVariable appends the value of the variable that a field is in. A text has no size, as its variable has one.
func AppendVariable(b []byte, c *world.Change, field int) []byte {
	if _, shared := VariableOf(c.Kind, field); shared > 1 {
		b = c.Kind.Fields[world.FieldX].Encode(c.Value(world.FieldX)).AppendTo(b, Little)
		field = world.FieldY
	}
	v := c.Kind.Fields[field].Encode(c.Value(field))
	if v.Type == world.Text {
		return append(b, v.Text()...)
	}
	return v.AppendTo(b, Little)
}

// ParseVariable reads the value of a field, which is no text, from its variable.
func ParseVariable(k *world.Kind, field int, b []byte) (v world.Value, ok bool) {
	var values [2]world.Value
	first, n := field, 1
	if _, n = VariableOf(k, field); n > 1 {
		first = world.FieldX
	}
	rest, ok := ParseFields(values[:], k.Fields[first:first+n], b, Little)
	return values[field-first], ok && len(rest) == 0
}

// Link is how replica names an entity to one client: the link of its kind, and its id among the entities of that kind.
type Link struct {
	Kind uint16
	ID   uint8
}

// AppendTo appends "entity link u16, id u8".
func (l Link) AppendTo(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint16(b, l.Kind), l.ID)
}

// ParseLink reads what Link.AppendTo writes.
func ParseLink(b []byte) (l Link, ok bool) {
	r := read(b, Little)
	l = r.link()
	return l, r.Done()
}

func (r *reader) link() Link { return Link{r.u16("entity link"), r.U8("id")} }

// AppendReplicaDone appends "entity link u16, id u8, tick u32, parameters".
func AppendReplicaDone(b []byte, actor Link, ev *world.Event) []byte {
	b = binary.LittleEndian.AppendUint32(actor.AppendTo(b), uint32(ev.Tick))
	return AppendParams(b, ev.Action.Fields, ev.Params[:len(ev.Action.Fields)], Little)
}

// ParseReplicaDone reads what AppendReplicaDone writes. a is the action that the message is named after.
func ParseReplicaDone(a *world.Action, b []byte) (d Done, ok bool) {
	r := read(b, Little)
	d.Actor, d.Tick, d.Action = r.link(), r.u32("tick"), a
	if !r.OK() {
		return d, false
	}
	d.Params, ok = ParseParams(a, r.rest(), Little)
	return d, ok
}
