package core

import (
	"strings"
	"testing"
	"time"

	"parley/simnet"
)

// A burst that the pacer spreads goes on by the pacer's own times, though the peer's timer was set
// for something later before it came.
func TestABurstGoesOnAtItsPace(t *testing.T) {
	h := newHall(t, Config{})
	a := near(1)
	h.join(a)
	p := h.mux.First().Peer(a)
	for range 200 { // a round trip of 20 ms is known, and a window
		for range 30 {
			_ = p.Send(Unordered, []byte(strings.Repeat("x", 400)))
		}
		h.turn()
		h.wait(20 * time.Millisecond)
		h.confirmSome(a, MaxConfirmed)
		delete(h.out, a)
	}
	_ = p.Send(Unordered, []byte("alone")) // its timer is set
	h.turn()
	h.wait(25 * time.Millisecond)
	h.mux.Advance(h.now)
	for range 120 {
		_ = p.Send(Unordered, []byte(strings.Repeat("y", 500)))
	}
	h.turn()
	first := p.end.sender.Pressure().Packets
	if first == 0 {
		t.Fatal("the pacer holds nothing back: this tests nothing")
	}
	h.wait(40 * time.Millisecond) // nothing is confirmed
	if left := p.end.sender.Pressure().Packets; left == first {
		t.Errorf("all of %d still wait after 40 ms", first)
	}
}

// Small packages do not overtake large ones that wait for room in the engine, which keeps some of it for
// small ones: order is that of Send.
func TestTheBacklogKeepsOrder(t *testing.T) {
	d := newDuo(t, 1, Rules{}, 0, simnet.Profile{Delay: 50 * time.Millisecond})
	var sent []Mode
	for range 20 {
		for range 40 {
			size := 4 + 490*(len(sent)%2)
			if d.send(0, SemiOrdered, number(len(sent))+strings.Repeat("x", size)) == nil {
				sent = append(sent, SemiOrdered)
			}
		}
		if d.ends[0].backlog.Len() > 0 {
			for range 20 { // room for small ones only
				if d.send(0, SemiOrdered, number(len(sent))) == nil {
					sent = append(sent, SemiOrdered)
				}
			}
		}
		d.run(10 * time.Millisecond)
	}
	d.settle()
	for i, p := range d.got[1] {
		if numberOf(p.Payload) != i {
			t.Fatalf("package %d came as number %d", numberOf(p.Payload), i)
		}
	}
	if len(d.got[1]) != len(sent) || len(sent) < 400 {
		t.Errorf("%d of %d came", len(d.got[1]), len(sent))
	}
}

// A peer that the game has leave gets the confirmations that it is owed before it is told.
func TestARemovedPeerGetsItsConfirmations(t *testing.T) {
	h := newHall(t, Config{})
	a := near(1)
	h.join(a)
	h.wait(30 * time.Millisecond)
	h.took(a)
	h.in(a, pack(Unordered, true, 1, "my last words"))
	h.mux.First().Peer(a).Close("enough")
	h.turn()
	h.wantSent(a, "confirm [1]", `unreliable server 0 ""`)
	h.wantTold("10.0.0.1 joined", `10.0.0.1 unordered "my last words"`, "10.0.0.1 left: closed")
}

// A peer that has never been sent anything reliable is kept alive as well: it has nothing to answer
// yet, so it is asked.
func TestAPeerWithNothingToConfirmIsAsked(t *testing.T) {
	h := newHall(t, Config{Lobby: &hotel{}})
	h.in(addr(1), pack(Unreliable, true, 0, "hello"))
	h.wait(1999 * time.Millisecond)
	h.wantSent(addr(1))
	h.wait(time.Millisecond)
	h.wantSent(addr(1), `unordered server 0 ""`)
}
