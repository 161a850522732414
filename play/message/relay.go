package message

import (
	"encoding/binary"

	"parley/world"
)

// The first byte of a relay payload to the server.
const (
	RelaySteer = 0 // AppendSteer, then a Stamp or nothing
	RelayAct   = 1 // AppendAct, then a Stamp or nothing
	RelaySay   = 2 // text
	RelayWho   = 3 // nothing: the client wants to be told of members
)

// The first byte of a relay payload from the server.
const (
	RelayEntities = 0 // records, unreliable
	RelayDone     = 1 // AppendRelayDone
	RelaySaid     = 2 // AppendSaid
	RelayYou      = 3 // AppendRelayYou
	RelaySession  = 4 // Session, unordered
	RelayRefused  = 5 // text: why the client is not let in
	RelayMoved    = 6 // text: AppendMoved, semi-ordered
	RelayWorld    = 7 // World, unordered
	RelayTick     = 8 // Fate, then records with the client's own entity first, unreliable
	RelayMembers  = 9 // Members, one or more, semi-ordered; only for clients that have sent RelayWho
)

// AppendRelayYou appends "entity u16": the client's own.
func AppendRelayYou(b []byte, entity uint16) []byte { return binary.BigEndian.AppendUint16(b, entity) }

// ParseRelayYou reads what AppendRelayYou writes.
func ParseRelayYou(b []byte) (entity uint16, ok bool) {
	r := read(b, Big)
	entity = r.u16("entity")
	return entity, r.Done()
}

// AppendRelayDone appends "entity u16, action u16, parameters".
func AppendRelayDone(b []byte, ev *world.Event) []byte {
	b = binary.BigEndian.AppendUint16(b, ev.Wire)
	return AppendAct(b, ev.Action, ev.Params[:len(ev.Action.Fields)], Big)
}

// ParseRelayDone reads what AppendRelayDone writes. The action is one of s.
func ParseRelayDone(s *world.Schema, b []byte) (d Done, ok bool) {
	r := read(b, Big)
	d.Entity = r.u16("entity")
	d.Action, d.Params, ok = ParseAct(s, r.rest(), Big)
	return d, ok
}
