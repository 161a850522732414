package core

import (
	"strings"
	"testing"

	"parley/internal/pagetest"
	"parley/internal/roster"
)

// docs/limits.md: what an address costs that has proven nothing is the challenge that waits for the socket.
func TestMemoryOfTheUnproven(t *testing.T) {
	h, _ := proofHall(t, OpenConfig{})
	before := pagetest.Heap()
	for i := range 20 * roster.MaxReplies {
		h.mux.HandleDatagram(h.now, addr(i), pack(Unordered, true, 1024, strings.Repeat("x", MaxPayload)))
	}
	got := (pagetest.Heap() - before) / roster.MaxReplies
	pagetest.Reaches(t, "relay", "unproven", got)
	if h.turn(); len(h.out) != roster.MaxReplies || h.mux.Stats().Unanswered != 19*roster.MaxReplies {
		t.Errorf("%d were answered, stats %+v", len(h.out), h.mux.Stats())
	}
}

// docs/limits.md: what a participant costs that holds all its packages behind a hole and confirms nothing, while the server
// and another participant send to it as much as is taken.
func TestMemoryOfAFullPeer(t *testing.T) {
	const hostile = 24
	h, _ := proofHall(t, OpenConfig{})
	h.prove(near(1000), "")
	full := strings.Repeat("x", MaxPayload)
	for i := range hostile {
		h.prove(near(i), "")
	}
	clear(h.out)
	before := pagetest.Heap()
	for i := range hostile {
		for id := range uint32(1000) {
			h.mux.HandleDatagram(h.now, near(i), pack(SemiOrdered, false, 3+id, full)) // 2 never comes
		}
		p := h.mux.First().Peer(near(i))
		for p.Send(Unordered, []byte(full)) == nil {
		}
		h.drain()
	}
	for id := range uint32(1000) {
		h.mux.HandleDatagram(h.now, near(1000), pack(SemiOrdered, false, 2+id, full))
		h.drain()
	}
	pagetest.Reaches(t, "relay", "connected, all queues full", (pagetest.Heap()-before)/hostile)
	if h.mux.Len() != hostile+1 {
		t.Fatalf("%d are in", h.mux.Len())
	}
}

// drain runs a turn and keeps nothing of what is sent.
func (h *hall) drain() {
	h.turn()
	h.told()
	clear(h.out)
}
