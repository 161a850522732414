package message

import (
	"encoding/binary"

	"parley/world"
)

// The codes of duplex's queries. The reply to each has a status.
const (
	DuplexAct     = 64 // AppendAct
	DuplexSay     = 65 // AppendSized: text
	DuplexTerrain = 66 // AppendPlace; the reply is a chunk
	DuplexPass    = 67 // AppendSized: a pass, before CONN_OK or CONN_FAILED; the reply is the client's own SID i16
	DuplexConfirm = 68 // no data: the client has its Session
	DuplexStamped = 70 // AppendDuplexAct
	DuplexRoster  = 71 // no data: the client wants to be told of members
	DuplexVias    = 72 // no data: it wants to be told of members and their Via

	// DuplexReply is added to the code of a query for the code of its reply.
	DuplexReply = 128
)

// DuplexGoodbye is the signal with which a client says goodbye, on main, before it closes its stream: a stream that is closed alone may be
// that of a process that was killed, whose player may come back.
const DuplexGoodbye = 14

// The SIDs of duplex that stand for events, not for entities. Each event is sent once. SIDs from -3 to -6 are only for clients
// that have sent DuplexPass.
const (
	DuplexSaid    = -1 // SYNC_MSG: AppendDuplexSaid
	DuplexDone    = -2 // SYNC_MSG: AppendDuplexDone
	DuplexSession = -3 // SYNC_MSG: Session
	DuplexMoved   = -4 // SYNC_MSG: AppendSized of AppendMoved
	DuplexWorld   = -5 // SYNC_MSG: World
	DuplexTick    = -5 // UPDATE_MSG: Fate, then AppendElement of the client's own entity
	DuplexMember  = -7 // SYNC_MSG: Member; only for clients that have sent DuplexRoster
	DuplexVia     = -8 // SYNC_MSG: Member.AppendViaTo; only for clients that have sent DuplexVias
	DuplexSteer   = -6 // from the client, UPDATE_MSG, or SYNC_MSG without a feed: AppendDuplexSteer
)

// The statuses of duplex's replies. Any other status is the number of a world.Reason.
const (
	DuplexOK        = 0
	DuplexRefused   = 1 // the query could not be read, there are too many, or the reply would be too long
	DuplexMalformed = uint8(world.Malformed)
)

// AppendSized appends "size u16, data", for at most 65,535 bytes.
func AppendSized(b, data []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(data))), data...)
}

// ParseSized reads what AppendSized writes.
func ParseSized(b []byte) (data []byte, ok bool) {
	r := read(b, Big)
	data = r.sized()
	return data, r.Done()
}

func (r *reader) sized() []byte {
	const max = 1<<16 - 1
	return r.Bytes("data", int(r.u16("size")), max)
}

// AppendElement appends "kind u8, fields": the state of an entity.
func AppendElement(b []byte, c *world.Change) []byte {
	return AppendFields(append(b, byte(c.Kind.Number)), c, Big)
}

// ParseElement reads the number of an entity's kind. The rest are the fields.
func ParseElement(b []byte) (kind int, fields []byte, ok bool) {
	r := read(b, Big)
	kind = int(r.U8("kind"))
	return kind, r.rest(), r.OK()
}

// AppendDuplexSaid appends "name size u8, name, text size u16, text": a line of chat.
func AppendDuplexSaid(b []byte, name string, text []byte) []byte {
	return AppendSized(appendName(b, name), text)
}

// ParseDuplexSaid reads what AppendDuplexSaid writes.
func ParseDuplexSaid(b []byte) (name, text []byte, ok bool) {
	r := read(b, Big)
	name, text = r.name(), r.sized()
	return name, text, r.Done()
}

// AppendDuplexDone appends "entity i16, action u16, tick u16, parameters".
func AppendDuplexDone(b []byte, ev *world.Event) []byte {
	b = binary.BigEndian.AppendUint16(b, ev.Wire)
	b = binary.BigEndian.AppendUint16(b, uint16(ev.Action.Number))
	b = binary.BigEndian.AppendUint16(b, uint16(ev.Tick))
	return AppendParams(b, ev.Action.Fields, ev.Params[:len(ev.Action.Fields)], Big)
}

// ParseDuplexDone reads what AppendDuplexDone writes. The action is one of s.
func ParseDuplexDone(s *world.Schema, b []byte) (d Done, ok bool) {
	r := read(b, Big)
	d.Entity, d.Action = r.u16("entity"), s.Action(int(r.u16("action")))
	if d.Tick = uint32(r.u16("tick")); d.Action == nil || !r.OK() {
		return d, false
	}
	d.Params, ok = ParseParams(d.Action, r.rest(), Big)
	return d, ok
}
