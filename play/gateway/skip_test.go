package gateway

import (
	"testing"
	"time"
)

// The ticks of realm's clients go with the clock, whatever the room does: they never go back, and are at most one behind it.
func TestTicksThatWereLetGo(t *testing.T) {
	const every = 50 * time.Millisecond
	var s schedule
	tick, due, known := uint64(1000), time.Now().UnixMicro(), uint64(0)
	begin := due
	run := func(after time.Duration) {
		t.Helper()
		tick++
		due += after.Microseconds()
		was := tick - 1 + known
		known = s.skipped(tick, due, every, known)
		if tick+known <= was {
			t.Fatalf("tick %d is told behind %d", tick+known, was)
		}
	}
	known = s.skipped(tick, due, every, known)
	for i := range 200 {
		run(every + time.Duration(i%3-1)*20*time.Millisecond) // a busy machine
	}
	if known > 1 {
		t.Errorf("%d ticks are let go in ten seconds of a room that runs", known)
	}
	run(4 * time.Second) // an election
	for range 20 {
		run(every)
	}
	run(0) // another sequencer, whose clock is behind
	for range 400 {
		run(every * 11 / 10) // a machine that is too slow
	}
	behind := (due-begin)/every.Microseconds() - int64(tick+known-1000)
	if behind < -2 || behind > 1 {
		t.Errorf("the clients' ticks are %d behind the clock", behind)
	}
}

// Clients are told when a tick was due by the server's clock: also while many are run at once, and whatever the clock of the sequencer says.
func TestWhenATickBegan(t *testing.T) {
	const every = 50 * time.Millisecond
	for _, ahead := range []time.Duration{0, -time.Second, 5 * time.Second} { // of this server's clock
		var s schedule
		due := time.Now()
		check := func(what string, now time.Time) {
			t.Helper()
			if off := s.began(now, due.UnixMicro()).Sub(due.Add(ahead)); off < -time.Millisecond || off > 20*time.Millisecond {
				t.Errorf("clock ahead by %v, %s: a tick is told to have begun %v late", ahead, what, off)
			}
		}
		for range 200 {
			due = due.Add(every)
			s.began(due.Add(ahead+3*time.Millisecond), due.UnixMicro())
		}
		for range 100 {
			due = due.Add(every)
			check("in time", due.Add(ahead+5*time.Millisecond))
		}
		now := due.Add(8 * time.Second)
		for range 160 {
			due = due.Add(every)
			now = now.Add(5 * time.Millisecond)
			check("many at once", now.Add(ahead))
		}
	}
	// A server that was started again runs all since the room began.
	var s schedule
	due := time.Now().Add(-20 * time.Minute)
	for now := time.Now(); due.Add(every).Before(now); now = now.Add(2 * time.Millisecond) {
		if due = due.Add(every); s.began(now, due.UnixMicro()) != time.UnixMicro(due.UnixMicro()) {
			t.Fatalf("%v behind, a tick is told to have begun %v late", now.Sub(due), s.ahead)
		}
	}
}
