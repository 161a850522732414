package core

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"parley/internal/kit"
)

// In a busy room most packages go past the queues of their receivers, in every mode.
func TestPackagesGoDirect(t *testing.T) {
	for mode := Unreliable; mode <= SemiOrdered; mode++ {
		r := newRelayRig(t, mode, 8)
		for range 200 {
			r.step()
		}
		h, direct, copies := r.h, 0, r.copies()
		for range 200 {
			d := Datagram{Kind: KindPackage, Mode: mode, ID: r.next[0] & MaxID, Payload: r.data[:]}
			r.next[0]++
			h.now = h.now.Add(time.Millisecond)
			h.mux.HandleDatagram(h.now, r.all[0], d.AppendTo(nil))
			for _, _, ok := h.mux.PollEvent(); ok; _, _, ok = h.mux.PollEvent() {
			}
			direct += h.mux.first.direct.Len()
			r.step() // sends it, and has somebody else confirm
		}
		if sent := r.copies() - copies; direct < 200*7*3/4 || sent != 400*7 {
			t.Errorf("%v: %d of %d went direct, %d were passed on", mode, direct, 200*7, sent)
		}
	}
}

func (r *relayRig) copies() int { return int(r.h.mux.stats.Copies) }

// Whatever goes direct, the port is called in time for each of its peers: to resend, to confirm,
// to ask whether it lives.
func TestDirectPackagesLeaveTimersRight(t *testing.T) {
	r := kit.Rand(t)
	for range kit.Rounds(100, 2000) {
		h := newHall(t, Config{})
		const size = 6
		var all [size]netip.AddrPort
		var next [size][2]uint32
		for i := range all {
			all[i] = near(i)
			h.join(all[i])
			next[i][1] = 1
		}
		for range 300 {
			h.wait(time.Duration(r.IntN(1 << r.IntN(26)))) // up to 67 ms
			i := r.IntN(size)
			switch mode := Mode(r.IntN(3)); {
			case r.IntN(3) == 0:
				h.confirmSome(all[i], r.IntN(30))
			default:
				id := &next[i][0]
				if mode.Reliable() {
					id = &next[i][1]
				}
				h.in(all[i], pack(mode, r.IntN(8) == 0, *id, "payload"))
				*id++
			}
			port := h.mux.first
			at, _ := port.NextTimeout()
			for p := range port.Peers() {
				if want, ok := p.nextTimeout(); ok && want.Before(at) {
					t.Fatalf("%v wants to be called %v before the port is", p.end.Addr(), at.Sub(want))
				}
			}
		}
	}
}

// confirmSome has a client confirm the oldest of what it was sent.
func (h *hall) confirmSome(a netip.AddrPort, most int) {
	var ids []uint32
	kept := h.out[a][:0]
	for _, b := range h.out[a] {
		var d Datagram
		if d.Parse(b); d.Kind != KindPackage || !d.Mode.Reliable() {
			continue
		}
		if len(ids) < most {
			ids = append(ids, d.ID)
		} else {
			kept = append(kept, b)
		}
	}
	h.out[a] = kept
	if len(ids) > 0 {
		h.in(a, confirmOf(ids...))
	}
}

// A flood in one turn fills what goes direct, then the queues; each receiver gets all of it once,
// in the order in which it was sent.
func TestAFloodInOneTurnIsQueued(t *testing.T) {
	for mode := Unreliable; mode <= SemiOrdered; mode++ {
		h := newHall(t, Config{})
		for i := range 20 {
			h.join(near(i))
		}
		h.in(near(0), pack(mode, false, 1, "first"))
		for i := range 20 {
			h.confirmSome(near(i), 10)
			delete(h.out, near(i))
		}
		const packages = 100
		var want []string
		h.now = h.now.Add(time.Millisecond)
		for i := range packages {
			want = append(want, fmt.Sprint(i))
			h.mux.HandleDatagram(h.now, near(0), pack(mode, false, uint32(2+i), want[i]))
		}
		for _, _, ok := h.mux.PollEvent(); ok; _, _, ok = h.mux.PollEvent() {
		}
		if n := h.mux.first.direct.Len(); n != maxDirect {
			t.Errorf("%v: %d wait to go direct, want %d", mode, n, maxDirect)
		}
		h.turn()
		h.wait(time.Second / 10)
		for i := 1; i < 20; i++ {
			var got []string
			ids := map[uint32]bool{}
			for _, b := range h.out[near(i)] {
				var d Datagram
				if d.Parse(b); d.Kind == KindPackage && len(d.Payload) > 0 {
					got = append(got, string(d.Payload))
					ids[d.ID] = true
				}
			}
			if !slices.Equal(got, want) || len(ids) != packages {
				t.Fatalf("%v: participant %d got, under %d ids, %q", mode, i, len(ids), got)
			}
		}
		out := uint64(0)
		for p := range h.mux.Peers() {
			out += p.end.Stats().Out
		}
		if out != h.mux.stats.Out {
			t.Errorf("%v: the peers count %d datagrams, the server %d", mode, out, h.mux.stats.Out)
		}
	}
}

// "Confirmations are gathered for 20 ms"; in the last quarter of that time they go along with a
// package, also with one that could go direct.
func TestConfirmationsGoAlongWithDirectPackages(t *testing.T) {
	for mode := Unreliable; mode <= SemiOrdered; mode++ {
		h := newHall(t, Config{})
		a, b := near(1), near(2)
		h.join(a)
		h.join(b)
		h.wait(100 * time.Millisecond)
		delete(h.out, a)
		h.in(a, pack(Unordered, true, 1, "to be confirmed"))
		sent := h.now
		for i := range uint32(18) {
			h.wait(time.Millisecond)
			h.in(b, pack(mode, false, 1+i, "x"))
			h.confirmSome(b, 1)
			for _, out := range h.out[a] {
				if took := h.now.Sub(sent); out[0] == flagControl && took != 15*time.Millisecond {
					t.Errorf("%v: confirmed after %v", mode, took)
				} else if out[0] == flagControl {
					sent = time.Time{}
				}
			}
			delete(h.out, a)
		}
		if !sent.IsZero() {
			t.Errorf("%v: not confirmed within 18 ms", mode)
		}
	}
}
