package gateway

import (
	"testing"

	"parley/protocol/realm"
	"parley/protocol/realm/core"
)

// A player whom the hub has taken in and realm's server then refuses is told so, leaves no ghost, and may log in again.
func TestARefusedRealmPlayerLeavesNoGhost(t *testing.T) {
	w := newWindowWorldFor(t, 1, 1) // the hub has room for more
	first, second := w.enter("first", nil), w.enter("second", nil)
	first.mayFail, second.mayFail = true, true
	w.wait("one is in, and the other is told that it is not", func() bool {
		return first.playing() && second.refused != realm.LoginOK || second.playing() && first.refused != realm.LoginOK
	})
	in, out := first, second
	if second.playing() {
		in, out = second, first
	}
	if out.refused != core.LoginPlayerLimitReached {
		t.Errorf("it is told %v", out.refused)
	}
	w.run(3)
	if len(w.h.main.players) != 1 || len(w.h.main.side(w.d).seats) != 1 || w.h.main.sim.Players() != 1 {
		t.Errorf("the world has %d players of %d seats, want the one who was let in", w.h.main.sim.Players(), len(w.h.main.side(w.d).seats))
	}
	if w.h.main.names[out.name] != 0 {
		t.Errorf("the name %q is taken", out.name)
	}
	w.leave(in)
	w.run(3)
	out.say(&core.Message{Kind: core.KindLogin, Name: []byte(out.name), Password: []byte("correct horse")})
	w.wait("it is in when there is room", out.playing)
	if len(w.h.main.players) != 1 || w.h.main.players[1] != nil && w.h.main.players[1].Name == in.name {
		t.Errorf("the players are %v", w.h.main.Players())
	}
}

// An action beyond what a connection may ask for between two ticks is dropped once, and counted once.
func TestARealmActionIsDroppedOnce(t *testing.T) {
	h, _ := newDesk(t, Config{})
	d, _, err := newRealm(h, RealmConfig{})
	if err != nil {
		t.Fatal(err)
	}
	poke := must(d.codec.Action(0, core.U32(1), core.EntityID(0), core.Str(nil), core.F64(1)))
	s := &realmSeat{}
	s.dialect, s.own = d, s
	for range maxRequests + 1 {
		d.message(s, realm.Event{Kind: realm.EventMessage, Message: &core.Message{Kind: core.KindActionDo, Action: poke}})
	}
	if got := d.inbox.losses(); got != (losses{flood: 1}) || len(d.inbox.take()) != maxRequests {
		t.Errorf("the inbox counts %+v", got)
	}
}
