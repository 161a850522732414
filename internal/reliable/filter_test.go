package reliable

import (
	"math"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/promise"
)

// T17: the classic cases of a sliding window.
func TestFilterKnowsWhatItHasSeen(t *testing.T) {
	promise.Keeps(t, "T17", "engine", 1)
	type op struct {
		n    uint64
		want Sight
	}
	const top = math.MaxUint64 - 1 // the last number is never reached: next must fit
	for _, tt := range []struct {
		name  string
		first uint64
		ops   []op
	}{
		{"in order", 0, []op{{0, Fresh}, {0, Seen}, {1, Fresh}, {0, Seen}, {1, Seen}, {2, Fresh}}},
		{"what is before the first counts as received", 12345, []op{{12344, Seen}, {12345, Fresh}, {12345, Seen}, {12344, Seen}, {12345 - 8191, Seen}, {12345 - 8192, Stale}}},
		{"backwards inside the window", 0, []op{{8191, Fresh}, {0, Fresh}, {0, Seen}, {8190, Fresh}}},
		{"one too old is stale", 0, []op{{100, Fresh}, {8192, Fresh}, {0, Stale}, {1, Fresh}, {100, Seen}}},
		{"exactly as far ahead as allowed", 0, []op{{0, Fresh}, {8192, Fresh}, {0, Stale}, {1, Fresh}}},
		{"one further is too far", 0, []op{{0, Fresh}, {8193, TooFar}, {1, Fresh}}},
		{"a jump leaves holes", 100, []op{{100, Fresh}, {164, Fresh}, {101, Fresh}, {163, Fresh}, {165, Fresh}, {100 + 8192, Fresh}, {101, Seen}, {102, Fresh}}},
		{"the same bit a window later", 5, []op{{5, Fresh}, {5 + 8192, Fresh}, {5 + 8192, Seen}, {5, Stale}, {6, Fresh}}},
		{"at the top of the space", top - 1, []op{{top - 1, Fresh}, {top, Fresh}, {top - 8191, Seen}, {top - 8192, Stale}, {top, Seen}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := Filter{next: tt.first}
			for i, o := range tt.ops {
				got := f.Check(o.n)
				if got != o.want {
					t.Fatalf("operation %d: %d is %v, want %v", i, o.n, got, o.want)
				}
				if got == Fresh {
					f.Mark(o.n)
				}
			}
		})
	}
}

// T17: against a plain model, 10^7 numbers, on paths from clean to terrible.
func TestFilterAgreesWithAModel(t *testing.T) {
	seeds, each := tier(1, 20, 200), tier(50_000, 500_000, 500_000)
	promise.Keeps(t, "T17", "engine", seeds*each)
	kit.Seeds(t, seeds, func(t *testing.T, seed uint64) {
		rng := newRand(seed)
		first := rng.Uint64() >> rng.UintN(60)
		f := Filter{next: first}
		next := first
		seen := make([]bool, 4*FilterSpan) // by number modulo its length, the older half cleared in passing
		loss := rng.Float64() * rng.Float64()
		for i := range each {
			n := next
			switch r := rng.UintN(1000); {
			case r == 0:
				n += rng.Uint64N(FilterSpan + 100)
			case r < 200 && next > first:
				n -= min(next-first, rng.Uint64N(FilterSpan+100))
			case r < 300:
				n += rng.Uint64N(70)
			}
			if i%50_000 == 0 {
				loss = rng.Float64() * rng.Float64()
			}
			want := Fresh
			switch {
			case n >= next && n-next >= FilterSpan:
				want = TooFar
			case n < next && next-n > FilterSpan:
				want = Stale
			case n < next && seen[n%uint64(len(seen))]:
				want = Seen
			}
			if got := f.Check(n); got != want {
				t.Fatalf("seed=%d, number %d of the run: %d is %v, want %v (next %d, %d words)", seed, i, n, got, want, next, len(f.bits))
			}
			if want != Fresh || rng.Float64() < loss {
				if n == next && want == Fresh { // lost: the next one comes instead
					n++
				} else {
					continue
				}
			}
			f.Mark(n)
			for ; next <= n; next++ {
				seen[next%uint64(len(seen))] = false
			}
			seen[n%uint64(len(seen))] = true
		}
		if len(f.bits) > mostFilterWords {
			t.Errorf("seed=%d: %d words", seed, len(f.bits))
		}
	})
}

func TestAFilterOfACleanPathIsSmall(t *testing.T) {
	var f Filter
	for n := range uint64(100_000) {
		f.Mark(n)
	}
	if len(f.bits) != leastFilterWords {
		t.Errorf("%d words after a clean run", len(f.bits))
	}
	for n := uint64(100_000); n < 200_000; n += 3 {
		f.Mark(n)
	}
	if len(f.bits) != mostFilterWords {
		t.Errorf("%d words with two of three lost", len(f.bits))
	}
	for n := uint64(200_000); n < 300_000; n++ {
		f.Mark(n)
	}
	if len(f.bits) > smallFilterWords {
		t.Errorf("%d words after a clean run again", len(f.bits))
	}
}

func TestHolesAgreeWithAModel(t *testing.T) {
	kit.Seeds(t, tier(10, 50, 2000), func(t *testing.T, seed uint64) {
		rng := newRand(seed)
		const limit = 16
		first := rng.Uint64N(1000)
		h := Holes{next: first}
		got := map[uint64]bool{}
		next := first
		for range 2000 {
			n := next + rng.Uint64N(8)
			if rng.IntN(2) == 0 {
				n -= min(n, rng.Uint64N(40))
			}
			holes := 0
			for i := first; i < max(next, n); i++ {
				if !got[i] {
					holes++
				}
			}
			want := Fresh
			switch {
			case n < first || n < next && got[n]:
				want = Seen
			case n >= next && holes > limit:
				want = TooFar
			}
			if s := h.Check(n, limit); s != want {
				t.Fatalf("seed=%d: %d is %v, want %v (next %d, %d holes)", seed, n, s, want, next, holes)
			}
			if want != Fresh {
				continue
			}
			h.Mark(time.Second, n)
			got[n] = true
			next = max(next, n+1)
			complete := first
			for got[complete] {
				complete++
			}
			if h.Complete() != complete {
				t.Fatalf("seed=%d: complete below %d, want %d", seed, h.Complete(), complete)
			}
		}
	})
}

func TestAcksAreGivenOnceEachAndBounded(t *testing.T) {
	kit.Seeds(t, tier(10, 200, 2000), func(t *testing.T, seed uint64) {
		rng := newRand(seed)
		var a acks
		var b Pool
		cfg := ReceiveConfig{AckDelay: 20 * time.Millisecond}.Filled()
		var owed []uint64
		at := time.Duration(1)
		buf := make([]uint64, 64)
		n := uint64(0)
		for range 3000 {
			n += rng.Uint64N(3)
			forgotten := a.add(at+cfg.AckDelay, n, &b)
			owed = append(owed, n)[forgotten:]
			if rng.IntN(20) == 0 {
				at += time.Duration(rng.IntN(10)) * time.Millisecond
			}
			if len(a.ranges)-a.taken > maxAckRanges {
				t.Fatalf("seed=%d: %d ranges", seed, len(a.ranges))
			}
			if !a.ready(at, cfg) || rng.IntN(10) > 0 {
				continue
			}
			got := buf[:a.take(buf[:rng.IntN(len(buf))], &b)]
			for i, g := range got {
				if g != owed[i] {
					t.Fatalf("seed=%d: acknowledged %d where %d was owed", seed, g, owed[i])
				}
			}
			owed = owed[len(got):]
			if a.count != len(owed) {
				t.Fatalf("seed=%d: %d owed, want %d", seed, a.count, len(owed))
			}
		}
	})
}

// Acknowledgements with gaps between them are owed in lent memory, which goes back with the last of
// them, or with the receiver.
func TestOwedAcksLendTheirRoom(t *testing.T) {
	var a acks
	var b Pool
	buf := make([]uint64, 100)
	owe := func() {
		for n := range uint64(100) {
			a.add(1, 2*n, &b)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		owe()
		if n := a.take(buf, &b); n != 100 || buf[99] != 198 || a.ranges != nil {
			t.Fatalf("%d were taken, %d the last of them, and there is room for %d", n, buf[99], cap(a.ranges))
		}
		owe()
		a.clear(&b)
	}); n != 0 {
		t.Errorf("%v allocations to owe what was owed before", n)
	}
}
