package stream

import (
	"testing"
	"time"

	"parley/internal/promise"
)

// seeds is how many runs a row has.
func seeds() uint64 {
	return uint64(promise.Tier(4, 20, 20))
}

// A stream is served at the speed of its link: what waits for the link is little, and the link is used.
func TestAStreamIsServedAtTheSpeedOfItsLink(t *testing.T) {
	for _, tt := range []struct {
		name  string
		wire  wire
		needs int // bytes a tick
	}{
		{"100 kbit/s", wire{rate: 12_500, delay: 20 * time.Millisecond}, 5000},
		{"400 kbit/s", wire{rate: 50_000, delay: 20 * time.Millisecond}, 5000},
		{"2 Mbit/s, of which less is needed", wire{rate: 250_000, delay: 20 * time.Millisecond}, 5000},
		{"2 Mbit/s", wire{rate: 250_000, delay: 20 * time.Millisecond}, 16_000},
		{"100 kbit/s, 2% lost", wire{rate: 12_500, delay: 20 * time.Millisecond, loss: .02}, 5000},
		{"400 kbit/s, 2% lost", wire{rate: 50_000, delay: 20 * time.Millisecond, loss: .02}, 5000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range seeds() {
				p := newWatched(seed, tt.wire, tt.needs)
				p.run(5 * time.Second)
				p.waits, p.sent, p.taken = 0, 0, 0
				p.run(20 * time.Second)
				all := min(float64(tt.wire.rate), float64(20*tt.needs)) * 20
				used, waits := float64(p.taken)/all, p.waits/time.Duration(p.sent)
				if used < .7 || waits > 80*time.Millisecond {
					t.Errorf("seed=%d: %.0f%% of the link used, waits %v, %+v", seed, 100*used, waits, p.flow.path.Estimate())
				}
			}
		})
	}
}

// What takes long because the peer acknowledges late, or because of jitter, is no queue.
func TestALateAcknowledgementIsNoQueue(t *testing.T) {
	for _, tt := range []struct {
		name  string
		wire  wire
		needs int
		looks int // percent of the ticks, at most
	}{
		{"little to tell", wire{delay: 20 * time.Millisecond}, 300, 13},
		{"much to tell", wire{delay: 20 * time.Millisecond}, 8000, 100},
		{"a long way", wire{delay: 120 * time.Millisecond}, 2000, 100},
		{"jitter", wire{delay: 20 * time.Millisecond, most: 40 * time.Millisecond}, 2000, 75},
		{"2% lost", wire{delay: 20 * time.Millisecond, loss: .02}, 2000, 50},
		{"a link that is wide enough", wire{delay: 20 * time.Millisecond, rate: 100_000}, 2000, 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range seeds() {
				p := newWatched(seed, tt.wire, tt.needs)
				p.run(60 * time.Second)
				first := int(calmAfter / (50 * time.Millisecond)) // while it is not known what the path takes
				if p.narrow-first > p.ticks/100 {
					t.Errorf("seed=%d: held back in %d of %d ticks", seed, p.narrow, p.ticks)
				}
				if p.looks-first > p.ticks*tt.looks/100 {
					t.Errorf("seed=%d: %d looks in %d ticks", seed, p.looks, p.ticks)
				}
			}
		})
	}
}

// A stream of which all has arrived costs no look, and one that was written too much before its path was known has drained
// before more goes out.
func TestWhatWaitsDrainsFirst(t *testing.T) {
	p := newWatched(1, wire{rate: 12_500, delay: 20 * time.Millisecond}, 100)
	p.run(2 * time.Second)
	p.write(make([]byte, 40_000)) // a chunk of terrain: 3.2 s
	p.needs = 5000
	p.run(7 * time.Second)
	if under := p.written - p.acked(); under > 4000 {
		t.Errorf("%d bytes are still under way", under)
	}
	if p.written < 44_000 {
		t.Errorf("only %d bytes were written: nothing came after the chunk", p.written)
	}

	p = newWatched(1, wire{delay: 20 * time.Millisecond}, 0)
	p.own = 0
	p.run(5 * time.Second)
	if p.looks != 0 {
		t.Errorf("%d looks at a stream that is silent", p.looks)
	}
}

// A peer that acknowledges nothing, or goes back on what it has acknowledged, harms itself only.
func TestAStrangeSystemHarmsNobody(t *testing.T) {
	var f Flow
	for i := range time.Duration(1000) {
		at := i*50*time.Millisecond + 1
		f.Stamp(at)
		if f.Begin(at, uint64(i)*1000, int(i%7)*100) {
			a := Arrivals{Acked: uint64(i%3) * 5000, Sacked: 1 << 30, Heard: uint64(i % 5), RTT: time.Duration(i % 11), Ago: i * time.Second, Resent: uint64(i % 13)}
			f.Look(at, a)
		}
		if p := f.Pace(at, 0); p.Unacked < 0 || p.Budget < 0 {
			t.Fatalf("tick %d: %+v", i, p)
		}
		if f.count > maxMarks || f.acked > f.written {
			t.Fatalf("tick %d: %d marks, %d of %d bytes acknowledged", i, f.count, f.acked, f.written)
		}
	}
}

// What arrived behind a gap is counted in full segments. If these were short, less has arrived when the gap is filled than was thought
// before, which is no rate of gigabytes a second.
func TestShortSegmentsBehindAGapAreNoFastPath(t *testing.T) {
	var f Flow
	for i := range time.Duration(20) {
		at := (i + 1) * 50 * time.Millisecond
		f.Stamp(at)
		f.Begin(at, uint64(i+1)*5000, 0)
		a := Arrivals{Acked: 5000, RTT: 40 * time.Millisecond, Least: 40 * time.Millisecond}
		if i < 8 {
			a.Sacked = int(i) * 3
		}
		if f.Look(at, a); f.drained > 100_000 {
			t.Fatalf("tick %d: %d bytes a second", i, f.drained)
		}
	}
}
