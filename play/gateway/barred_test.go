package gateway

import (
	"errors"
	"strings"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/play/message"
)

// A server whose stage of main was stopped stays up, and is not ready. Players are told to connect to another server, and do not have the stage begin again:
// only another room main does.
func TestAStoppedStage(t *testing.T) {
	c := &aCluster{}
	h, d, a := newAlly(t, Config{}, c)
	a.list(t, c, 1, nil)
	if err := h.Bring("room-0"); err != nil {
		t.Fatal(err)
	}
	first := map[string]*aPart{}
	_ = h.Do(func() { first[MainRoom], first["room-0"] = c.parts[MainRoom], c.parts["room-0"] })
	early := d.chair()
	d.inbox.put(request{seat: early, ask: askEnter})
	patient.Until(t, "somebody waits for the world of main", func() (waits bool) {
		_ = h.Do(func() { waits = len(h.main.shared.(*shared).waiting) == 1 })
		return waits
	})
	if err := h.Degraded(); err != nil {
		t.Fatal(err)
	}
	for _, p := range first {
		p.config.Stopped(errors.New("it differs"))
	}
	left := func() (n int) {
		if err := h.Do(func() { n = len(h.rooms) }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	patient.Until(t, "both rooms are stopped", func() bool { return left() == 0 })
	for _, want := range []string{"room main was stopped", "room room-0 was stopped", "it differs"} {
		if err := h.Degraded(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the server says %v, not %q", err, want)
		}
	}
	for _, pass := range []*Pass{nil, {Kind: message.PassRoom, Room: MainRoom}, {Kind: message.PassRoom, Room: "room-0"}} {
		if told := comes(t, h, d, 1, one, func(int) *Pass { return pass }); told[string(RefusedDrained)] != 1 {
			t.Errorf("a player with %+v was told %v", pass, told)
		}
	}
	if err := h.Do(func() {
		if early.kicked == nil || early.kicked.Error() != string(RefusedDrained) {
			t.Errorf("who was entering was told %v", early.kicked)
		}
		if c.parts[MainRoom] != first[MainRoom] || c.parts["room-0"] != first["room-0"] {
			t.Error("a player has a stopped stage begin again")
		}
		s := h.main.settings
		s.Opened++
		a.told(MainRoom, must(a.opening(s)).text, true)
		a.told("room-0", nil, false)
	}); err != nil {
		t.Fatal(err)
	}
	patient.Until(t, "another room main runs", func() bool { return left() == 1 })
	if err := h.Degraded(); err != nil {
		t.Error(err)
	}
}

// What a server opens comes behind all rooms that it has heard of, also if its clock is behind those of others.
func TestRoomsOfAServerWhoseClockIsBehind(t *testing.T) {
	c := &aCluster{}
	h, _, a := newAlly(t, Config{}, c)
	if err := h.Do(func() {
		s := h.fill(Settings{Name: "duel"})
		s.Opened += time.Hour.Microseconds()
		a.told("duel", must(a.opening(s)).text, true)
		a.told("duel", nil, false)
		if again := h.fill(Settings{Name: "duel"}); again.Opened <= s.Opened {
			t.Errorf("the room that came again is from %d, and the one before from %d", again.Opened, s.Opened)
		}
	}); err != nil {
		t.Fatal(err)
	}
}
