package core

import (
	"testing"
	"time"

	"parley/internal/admission"
)

// wall is Elsewhere where nobody has room.
type wall struct{ passed int }

func (w *wall) Relay(*Peer, Mode, []byte, bool) bool {
	w.passed++
	return true
}

// A participant of another server has a share of the room's rate as one of this server has: what is beyond it waits if it is reliable, and is
// dropped if not, and the share of others is untouched.
func TestARemoteHasItsShare(t *testing.T) {
	now := time.Unix(1e9, 0)
	m := NewMux(now, Config{}, newShared(1), admission.Key{1}, nil)
	r := m.NewRoom()
	greedy, other := r.NewRemote(), r.NewRemote()
	take := func(x *Remote) (n int) {
		for x.Relay(Unordered, []byte("x"), false) {
			if n++; n > 1_000_000 {
				t.Fatal("it takes all")
			}
		}
		return n
	}
	take(greedy)
	if n := take(other); n == 0 {
		t.Error("the share of another is gone")
	}
	if !greedy.Relay(Unreliable, []byte("x"), false) {
		t.Error("an unreliable package is asked for again")
	}
	if before := greedy.taken; !greedy.Relay(Unreliable, []byte("x"), false) || greedy.taken != before {
		t.Error("an unreliable package beyond its share is passed on")
	}
	now = now.Add(time.Second)
	m.Advance(now)
	if n := take(greedy); n == 0 {
		t.Error("it has no share a second later")
	}
	greedy.Close()
	greedy.Close()
	if other.Close(); r.remotes != 0 {
		t.Errorf("%d are left", r.remotes)
	}
}

// A participant that other servers have no room for waits, until it may go on.
func TestAParticipantWaitsForOtherServers(t *testing.T) {
	m := NewMux(time.Unix(1e9, 0), Config{}, newShared(1), admission.Key{1}, nil)
	r := m.NewRoom()
	w := new(wall)
	r.Connect(w)
	p := &Peer{port: &Port{mux: m}}
	p.end.rules, p.end.shared, p.end.state = m.rules, m.shared, StateOpen
	r.Add(p)
	if err := r.Relay(p, Unreliable, []byte("x")); err != nil || p.waitsFor != 0 {
		t.Fatalf("%v; it waits for %d", err, p.waitsFor)
	}
	if err := r.Relay(p, SemiOrdered, []byte("x")); err != nil || p.waitsFor != 1 || !p.mustWait() {
		t.Fatalf("%v; it waits for %d", err, p.waitsFor)
	}
	r.Remove(p) // it has no way to be sent anything
	if x := r.NewRemote(); !x.Relay(Unordered, []byte("x"), false) || w.passed != 2 {
		t.Errorf("%d packages went to other servers", w.passed)
	}
	if err := r.Say(Unordered, []byte("x")); err != nil || w.passed != 2 {
		t.Errorf("what the server says goes to others: %v", err)
	}
	p.waitsFor++ // for somebody here
	if r.GoOn(p); p.waitsFor != 1 {
		t.Errorf("it waits for %d", p.waitsFor)
	}
}
