package main

import (
	"slices"
	"testing"
	"time"
)

func TestAStepIsSeenWithThoseBefore(t *testing.T) {
	const ms = time.Millisecond
	began := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return began.Add(d) }
	l := stepLog{first: 3}
	var angles []float32
	for k := range 2000 { // it turns round and round, and no direction comes back
		angle := l.ask(at(time.Duration(k) * 100 * ms))
		if slices.Contains(angles, angle) {
			t.Fatalf("step %d has a direction that was", k)
		}
		angles = append(angles, angle)
	}
	l.steps = l.steps[:4]
	l.see(angles[3]+.1, at(400*ms)) // nobody asked for it
	l.see(angles[0], at(410*ms))
	l.see(angles[2], at(430*ms))
	l.see(angles[1], at(450*ms)) // old news
	if !l.waits() || l.seen != 3 {
		t.Errorf("%d steps are seen, and it waits: %v", l.seen, l.waits())
	}
	if got, want := l.end(at(1000*ms)), []time.Duration{410 * ms, 330 * ms, 230 * ms, 700 * ms}; !slices.Equal(got, want) {
		t.Errorf("the times are %v, want %v: one that was not seen counts until the end", got, want)
	}
}

func TestPlayersAreJudgedBesideOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		lossy float64 // the p99 of replica at 5%
		met   int
	}{"good": {130, 3}, "behind the best of ENet": {135, 2}, "behind ENet, and loss is felt": {150, 1}, "bad": {700, 0}} {
		r := &Report{}
		for _, x := range []struct {
			kase, peer string
			p99        float64
		}{
			{"0%", "replica arena", 110}, {"5%", "replica arena", tt.lossy}, {"0%", "realm arena", 110}, {"5%", "realm arena", 700},
			{"5%", "enet arena", 160}, {"5%", "enet arena repeated", 133}, {"5%", "colyseus", 600},
		} {
			r.add(Sample{Work: "W5", Case: x.kase, Peer: x.peer, Round: 1, Figures: map[string]float64{"p99": x.p99}})
		}
		r.settle()
		met := 0
		for _, b := range r.Bars {
			if b.Met {
				met++
			}
		}
		if len(r.Bars) != 3 || met != tt.met {
			t.Errorf("%s: %d of %d bars are met, want %d: %+v", name, met, len(r.Bars), tt.met, r.Bars)
		}
	}
}
