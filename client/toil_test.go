package client

import (
	"testing"
	"time"
)

// A client that computes for long at a stretch, or for most of its time, does not predict for a while. One that has enough
// to do does.
func TestToil(t *testing.T) {
	for _, tt := range []struct {
		name        string
		work, pause time.Duration
		times       int
		busy        bool
	}{
		{"much at 60 frames", 6 * time.Millisecond, 10 * time.Millisecond, 1000, true},
		{"a third of the time", 5 * time.Millisecond, 11 * time.Millisecond, 1000, false},
		{"once for long", 260 * time.Millisecond, time.Second, 1, true},
		{"now and then", 100 * time.Millisecond, time.Second, 1000, false},
		{"with every message", 20 * time.Millisecond, 0, 20, true},
	} {
		var x toil
		now, busy := time.Unix(0, 0), false
		for range tt.times {
			x.begin(now)
			now = now.Add(tt.work)
			busy = x.isBusy(now) || busy
			x.end(now)
			now = now.Add(tt.pause)
		}
		if busy != tt.busy {
			t.Errorf("%s: busy %v", tt.name, busy)
		}
		now = now.Add(maxRest)
		if x.begin(now); x.isBusy(now) {
			t.Errorf("%s: it is busy for ever", tt.name)
		}
	}
}

// With work that has no end a client computes for a ninth of its time or so.
func TestToilHasAnEnd(t *testing.T) {
	var x toil
	now, worked := time.Unix(0, 0), time.Duration(0)
	for now.Before(time.Unix(100, 0)) {
		x.begin(now)
		for !x.isBusy(now) {
			now = now.Add(time.Millisecond)
			worked += time.Millisecond
		}
		x.end(now)
		now = now.Add(10 * time.Millisecond)
	}
	if worked > 13*time.Second {
		t.Errorf("it has computed for %v of 100 s", worked)
	}
}
