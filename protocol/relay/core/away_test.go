package core

import (
	"slices"
	"testing"
	"time"
)

// A server that was itself away for longer than a peer may be silent, as a machine that slept is, asks all of them
// before it takes them for gone: what they sent meanwhile may still wait to be read.
func TestWhoWasAwayAsksFirst(t *testing.T) {
	const peers, silent = 4000, 17
	h := newHall(t, Config{})
	for i := range peers {
		h.join(near(i))
	}
	h.told()
	clear(h.out)
	h.now = h.now.Add(11 * time.Second) // nobody calls HandleTimeout at its times
	h.mux.HandleTimeout(h.now)
	h.turn()
	h.wantTold()
	for i := range peers {
		h.wantSent(near(i), `unordered server 1 ""`, "confirm [0]")
		if i%silent != 0 {
			h.in(near(i), pack(Unreliable, true, 1, "x"))
		}
	}
	h.told()
	h.wait(2*time.Second - 1)
	h.wantTold()
	h.wait(1)
	gone := 0
	for _, what := range h.told() {
		if what[len(what)-len("silent for too long"):] != "silent for too long" {
			t.Fatal(what)
		}
		gone++
	}
	if want := (peers + silent - 1) / silent; gone != want || h.mux.Len() != peers-want {
		t.Errorf("%d are gone, want %d of %d", gone, want, peers)
	}
}

// A client whose machine slept asks its server in the same way.
func TestAClientThatWasAwayAsksFirst(t *testing.T) {
	for _, alive := range []bool{true, false} {
		s := newClientStage(t)
		s.Begin("open")
		s.now = s.now.Add(time.Minute)
		s.client.HandleTimeout(s.now)
		if list, ended := s.effects(); ended != "" || s.client.stats.Beats != 1 {
			t.Fatalf("after a minute away: %q, %s, %d beats", list, ended, s.client.stats.Beats)
		}
		if alive {
			s.give(confirmOf(s.newest()))
		}
		s.now = s.now.Add(2 * time.Second)
		s.client.HandleTimeout(s.now)
		if _, over := s.client.Over(); over == alive {
			t.Errorf("2 s later it is %v, and the server alive %t", s.client.State(), alive)
		}
	}
}

// Who has no keep-alives within its timeout is not asked.
func TestWhoIsNeverAskedIsNotAskedLate(t *testing.T) {
	h := newHall(t, Config{Lobby: NewOpenLobby(OpenConfig{Unproven: true, Rules: Rules{KeepAlive: time.Minute}})})
	h.join(near(1))
	h.told()
	h.wait(10*time.Second - 1)
	h.wantTold()
	h.wait(1)
	h.wantTold("10.0.0.1 left: silent for too long")
}

// A client that gives up joining, or that hears nothing any more, does not say that it leaves: its player may come back with its
// session, and "the client's goodbye ends it at once" (entry).
func TestAClientThatIsLostSaysNoGoodbye(t *testing.T) {
	for _, state := range []string{"joining", "open"} {
		s := newClientStage(t)
		s.Begin(state)
		if state == "joining" {
			s.client.Close(s.now, "")
		}
		var said []string
		for range 1000 {
			s.client.HandleTimeout(s.now)
			list, _ := s.effects()
			said = append(said, list...)
			next, ok := s.client.NextTimeout()
			if _, over := s.client.Over(); over || !ok {
				break
			}
			s.now = next
		}
		if _, over := s.client.Over(); !over || slices.Contains(said, "farewell") {
			t.Errorf("a client that is %s is over %t, and says %q", state, over, said)
		}
	}
}
