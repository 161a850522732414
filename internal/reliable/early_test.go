package reliable

import "testing"

// Packets get one copy, or as many as leave the share that may be late, and no more: some of them one more than the others.
func TestCopiesLeaveTheShareThatMayBeLate(t *testing.T) {
	const packets = 10_000
	for _, tt := range []struct {
		loss   float64
		behind uint32
	}{{.01, 1}, {.02, 4}, {.03, 4}, {.04, 1}, {.05, 4}, {.05, 8}, {.08, 1}, {.10, 4}, {.12, 8}} {
		var e early
		e.update(tt.loss)
		least, most, late := uint8(maxCopies), uint8(0), 0.
		for range packets {
			n := e.copies(tt.behind)
			least, most = min(least, n), max(most, n)
			share := tt.loss * float64(tt.behind)
			for range n {
				share *= tt.loss
			}
			late += share / packets
		}
		if late > lateShare*1.01 || late < lateShare*.99 && most > 1 || most-least > 1 || least < 1 {
			t.Errorf("loss %.0f%%, %d wait: %d to %d copies, and %.3f%% late, want %.1f%%", tt.loss*100, tt.behind, least, most, late*100, lateShare*100)
		}
	}
}

func TestCopiesBeginAndEnd(t *testing.T) {
	var e early
	for _, tt := range []struct {
		loss float64
		want bool
	}{{0, false}, {.009, false}, {.010, true}, {.006, true}, {.004, false}, {.009, false}, {.3, true}, {0, false}} {
		e.update(tt.loss)
		if e.on != tt.want || !tt.want && e.copies(8) != 0 {
			t.Errorf("loss %.1f%%: copies %v", tt.loss*100, e.on)
		}
	}
	// However much is lost, and however many wait, there is a bound.
	e.update(.5)
	if got := e.copies(4096); got != maxCopies {
		t.Errorf("%d copies", got)
	}
}
