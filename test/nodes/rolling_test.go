package nodes

import (
	"slices"
	"testing"
	"time"

	"parley/internal/promise"
)

// maxMoving is for how long a player may be told nothing while it goes to another server.
const maxMoving = 3 * time.Second

// T80: "Rolling restart of 3 nodes, 10 x: no line lost, away <= 3 s each, no entity lost": each server is ended with SIGTERM in turn, which drains it, and started again, while 200
// players play. All read all that was said, also those who went to another server meanwhile, and none has made a step less than it was told.
func TestRollingRestart(t *testing.T) {
	n := promise.Tier(0, 1, 10)
	if n == 0 || testing.Short() {
		t.Skip("it takes a minute: PARLEY_PR=1 runs one, PARLEY_SOAK=1 ten")
	}
	x := newThree(t, 200)
	for range promise.Keeps(t, "T80", "bots", n) {
		for i := range x.machines {
			x.begin().restarts(i)
			if t.Failed() {
				return
			}
		}
	}
	slices.Sort(x.pauses)
	slices.Sort(x.missed)
	slices.Sort(x.tries)
	t.Logf("the room stood still for %v; %d players went elsewhere, without a word for %v in the median, %v in 99 of 100 and %v at most; %d lines were read; the machine stood still for %v at most",
		x.pauses, len(x.missed), percent(x.missed, 50), percent(x.missed, 99), percent(x.missed, 100), x.lines, x.stood())
}

// restarts ends a server and starts it again.
func (r *round) restarts(i int) {
	r.t.Helper()
	began := time.Now()
	r.machines[i].end()
	r.pause(i)
	ended := time.Since(began)
	r.settled("at the other servers")
	r.machines[i].start()
	r.plays("when it is there again")
	spoken := r.spoken()
	patient := time.Now().Add(10 * time.Second)
	for i, w := range r.witnesses {
		for len(w.unread(spoken)) > 0 && time.Now().Before(patient) {
			<-time.After(20 * time.Millisecond)
		}
		if list := w.unread(spoken); len(list) > 0 {
			r.t.Errorf("%s, who was at server %d, has not read %q", w.name(), r.at[i], list)
		}
	}
	r.end(i)
	moved := 0
	for k, w := range r.witnesses {
		w.mu.Lock()
		if r.at[k] == i {
			moved++
		}
		for _, missed := range w.missed {
			if missed > maxMoving+r.stood() {
				r.t.Errorf("%s was told nothing for %v", w.name(), missed)
			}
		}
		w.mu.Unlock()
	}
	r.t.Logf("server %d with %d players ended in %v", i, moved, ended.Round(time.Millisecond))
	r.goHome()
}

// spoken returns all lines that were said since the round began, but those of the last moment.
func (r *round) spoken() (lines []string) {
	for _, w := range r.witnesses {
		w.mu.Lock()
		lines = append(lines, w.lines...)
		w.mu.Unlock()
	}
	return lines
}

// unread returns the lines that a player has not read.
func (w *witness) unread(lines []string) (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, line := range lines {
		if w.plays() && w.heard[line] == 0 {
			list = append(list, line)
		}
	}
	return list
}
