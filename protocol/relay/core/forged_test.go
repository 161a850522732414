package core

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
)

// forger sends datagrams in the name of a participant: it knows the address and guesses the ids.
type forger struct {
	h    *hoard
	as   *hoarder
	next uint32
	bad  bool // it sends what is no datagram, too
	sent int
}

const forgedID = 0xffff // instead of a member's: see hoarder.turn

// tick sends 756 kB/s of reliable packages, as many confirmations of what the participant was never asked about or has not got, and packages
// that are far ahead, every 10 ms.
func (f *forger) tick() {
	if f.h.quiet {
		return
	}
	f.h.net.After(10*time.Millisecond, "forge", f.tick)
	payload := make([]byte, MaxPayload)
	binary.BigEndian.PutUint16(payload, forgedID)
	for i := range 15 {
		f.in(pack(Mode(1+i%2), false, f.next, string(payload)))
		f.next = (f.next + 1) & MaxID
	}
	f.in(pack(SemiOrdered, false, f.next+900, string(payload)))
	f.in(pack(Unordered, false, f.next+5000, string(payload)))
	f.in(confirmOf(f.next, f.next+1, f.next+2, 1<<20))
	for range 50 {
		f.in(pack(Unreliable, false, f.next, "forged"))
	}
	if f.bad {
		f.in([]byte("no datagram"))
	}
	f.h.server.Poke()
}

func (f *forger) in(b []byte) {
	f.sent++
	f.h.mux.HandleDatagram(f.h.server.Now(), f.as.host.Addr(), b)
}

// A forged sender harms the participant in whose name it sends, and nobody else: all others stay, and each gets all that the others
// send, once and in order, while the participant is flooded in its name and after it was removed for it.
func TestAForgedSenderHarmsNobodyElse(t *testing.T) {
	sizes := []int{3, 12}
	switch {
	case kit.Race:
		sizes = sizes[:1] // there is one goroutine
	case promise.Full():
		sizes = []int{3, 5, 12, 21, 40}
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			h := newHoard(t, n, 50*time.Millisecond, 100*time.Millisecond)
			h.members[0].ended = new(Close) // it says nothing itself
			f := &forger{h: h, as: h.members[0]}
			h.net.After(0, "forge", f.tick)
			if err := h.net.Run(8 * time.Second); err != nil {
				t.Fatal(err)
			}
			f.bad = true // 64 of these remove it
			h.until("the participant is out", func() bool { return h.mux.First().Peer(f.as.host.Addr()) == nil })
			if err := h.net.Run(4 * time.Second); err != nil {
				t.Fatal(err)
			}
			h.settle()
			if got := h.mux.First().Len(); got != n-1 {
				t.Errorf("%d of %d others are in", got, n-1)
			}
			if f.sent < 50_000 {
				t.Errorf("%d datagrams were forged", f.sent)
			}
		})
	}
}
