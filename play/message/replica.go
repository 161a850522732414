package message

import (
	"encoding/binary"

	"parley/world"
)

// The names of replica's messages. In addition, each action has a message with the action's name.
const (
	ReplicaPass    = "parley.pass" // from the client: a pass
	ReplicaYou     = "parley.you"  // from the server: the Link of the client's own entity
	ReplicaSteer   = "steer"       // from the client: AppendSteer
	ReplicaChat    = "chat"        // from the client: text; from the server: AppendSaid
	ReplicaTerrain = "terrain"     // from the client: AppendPlace; from the server: AppendChunk
)

// ReplicaEntity is the first variable of each kind in the link table: the number of the entity. Entities refer to each other by
// this number, as the ids of links differ from client to client.
const ReplicaEntity = "entity"

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
	return AppendParams(b, ev.Params[:len(ev.Action.Fields)], Little)
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
