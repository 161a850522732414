package gateway

import (
	"parley/protocol/realm/core"
	"parley/world"
)

// Clients have 1,000 temporary numbers for what their actions create. Each is free again when the client
// is told the true number, or that there is nothing: "a refused action with a temporary id is answered so
// that the id is free again".

// temporaryOf returns the temporary number among the parameters of an action, 0 if there is none.
func temporaryOf(params core.Fields) uint16 {
	for i := range params.Len() {
		if v := params.Get(i); v.Type() == core.TypeEntity && v.Uint() >= core.FirstTemporary {
			return uint16(v.Uint())
		}
	}
	return 0
}

// await notes that an action waits under a temporary number, and returns the tag that tells this action
// from earlier ones of that number; 0 without a number.
func (s *realmSeat) await(temporary uint16) uint32 {
	if temporary == 0 {
		return 0
	}
	if s.temps == nil {
		s.temps = map[uint16]uint32{}
	}
	s.tags++
	tag := uint32(s.tags)<<16 | uint32(temporary)
	s.temps[temporary] = tag
	return tag
}

// free tells a player that there is nothing under a temporary number.
func (d *Realm) free(s *realmSeat, temporary uint16) {
	if temporary == 0 {
		return
	}
	delete(s.temps, temporary)
	_ = s.conn.Send(&core.Message{Kind: core.KindEntityDestroy, Tick: s.lastTick(), ID: temporary}) // a closed connection needs none
}

// name tells a player the numbers of what its actions have created, and which of them created nothing.
func (x *realmStage) name(s *realmSeat) {
	d := x.d
	if len(s.temps) == 0 {
		return
	}
	for i := range x.room.sim.Events() {
		ev := &x.room.sim.Events()[i]
		if ev.Kind != world.EntityNamed || ev.Player != s.player.ID || s.temps[ev.Temp] != ev.Tag {
			continue
		}
		if ev.Wire == 0 { // it is gone already, or nobody can be told of it
			d.free(s, ev.Temp)
			continue
		}
		delete(s.temps, ev.Temp)
		s.conn.ChangeID(ev.Temp, ev.Wire)
	}
	for _, r := range s.results {
		if temporary := uint16(r.tag); r.tag != 0 && s.temps[temporary] == r.tag {
			d.free(s, temporary)
		}
	}
}
