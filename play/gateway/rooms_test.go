package gateway

import (
	"context"
	"testing"

	"parley/internal/patient"
	"parley/protocol/relay"
)

// A ticket that is on its way to the disk when its room ends, or its bearer leaves, is good again, and its bearer's place at its
// address is free.
func TestATicketThatIsBeingSpentWhenItsRoomEnds(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		h, d := newDesk(t, Config{TicketKey: testKey})
		looked := make(chan struct{})
		h.gate.ReserveNames(func(context.Context, string) (bool, error) { patient.Value(looked); return false, nil })
		must(h.Open(Settings{Name: "arena"}))
		ticket := must(relay.NewTicket(testKey, "arena", "ann", 3600e9))
		s := must(d.show(h, ticket))
		ticks(t, h, 1)
		if !s.entering || h.crowd.Len() != 1 || h.spending != 1 {
			t.Fatalf("it is not being spent: %d places, %d being spent", h.crowd.Len(), h.spending)
		}
		if leaves {
			d.inbox.put(request{seat: s, ask: askLeave})
			ticks(t, h, 1)
		} else if err := h.CloseRoom("arena"); err != nil {
			t.Fatal(err)
		}
		close(looked)
		waitFor(t, func() { ticks(t, h, 1) }, "it is spent", func() bool { return h.spending == 0 })
		ticks(t, h, 1)
		if h.crowd.Len() != 0 || s.player != nil || !leaves && s.kicked != RefusedRoom {
			t.Errorf("leaves %v: %d places are taken, it is %v, told %v", leaves, h.crowd.Len(), s.player, s.kicked)
		}
		if !leaves {
			must(h.Open(Settings{Name: "arena"}))
		}
		s = must(d.show(h, ticket))
		waitFor(t, func() { ticks(t, h, 1) }, "it is in", func() bool { return s.player != nil })
	}
}
