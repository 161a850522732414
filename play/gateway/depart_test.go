package gateway

import (
	"testing"
	"time"

	"parley/play/message"
)

// A seat whose client has said that it may not come back is held for some seconds, whether that comes before the connection ends or after. One that comes back
// in time is held as before. A token that nobody has does nothing.
func TestDepartures(t *testing.T) {
	h, d := newDesk(t, Config{Hold: time.Minute, TickRate: 20})
	short := int(departHold/time.Second) * 20
	names := []string{"before", "after", "not", "reload"}
	seats := map[string]*Seat{}
	for _, n := range names {
		seats[n] = d.sit(n)
	}
	ticks(t, h, 2)
	lose := func(s *Seat) {
		s.known = true
		d.inbox.put(request{seat: s, ask: askLeave})
	}
	there := func(want ...string) {
		t.Helper()
		got := map[string]bool{}
		for _, p := range h.main.Players() {
			got[p.Name] = true
		}
		for _, n := range want {
			if !got[n] {
				t.Errorf("%s is not there any more", n)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%v are there, want %v", got, want)
		}
	}
	h.Depart(seats["before"].token)
	h.Depart(seats["reload"].token)
	h.Depart(message.Token{1})
	ticks(t, h, 1)
	for _, n := range names {
		lose(seats[n])
	}
	ticks(t, h, 2)
	h.Depart(seats["after"].token)
	ticks(t, h, short-10)
	there(names...)
	again := d.chair()
	again.pass = &Pass{Kind: message.PassSession, token: h.main.away[0].tokens[0]}
	for _, p := range h.main.away {
		if p.Name == "reload" {
			again.pass.token = p.tokens[0]
		}
	}
	d.inbox.put(request{seat: again, ask: askEnter})
	ticks(t, h, 1)
	if again.player == nil || again.player.Name != "reload" {
		t.Fatal("a page that is loaded again is not the same player")
	}
	ticks(t, h, 10)
	there("not", "reload")
	lose(again)
	ticks(t, h, 2*short)
	there("not", "reload")
	ticks(t, h, 60*20)
	there()
}

// Strangers who send tokens cost the hub a bounded list, and no room a tick.
func TestManyDepartures(t *testing.T) {
	h, d := newDesk(t, Config{Hold: time.Minute})
	d.sit("ann")
	ticks(t, h, 1)
	for i := range 10_000 {
		h.Depart(message.Token{byte(i), byte(i >> 8), 7})
	}
	if n := len(h.departs.list); n != maxDepartures {
		t.Errorf("%d wait, want %d", n, maxDepartures)
	}
	ticks(t, h, 1)
	if len(h.main.Players()) != 1 || len(h.departs.list) != 0 {
		t.Error("strangers have had somebody leave")
	}
}
