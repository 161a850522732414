package account

import (
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"parley/internal/promise"
)

// modelCounts is a throttle that forgets nothing it need not.
type modelCounts struct {
	limit    int
	failures map[int][]time.Time
	pending  map[int]int
}

func (m *modelCounts) check(now time.Time, key int) verdict {
	recent := 0
	for _, at := range m.failures[key] {
		if now.Sub(at) < time.Minute {
			recent++
		}
	}
	switch {
	case recent >= m.limit:
		return mayNot
	case recent+m.pending[key] >= m.limit:
		return mustWait
	}
	return mayTry
}

func TestThrottleCountsAsTheModel(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 7))
		now := time.Now()
		limit := 1 + rng.IntN(6)
		got := newThrottle[int](now, limit)
		want := &modelCounts{limit, map[int][]time.Time{}, map[int]int{}}
		var under []int // keys of tries under way
		for range 3000 {
			now = now.Add(time.Duration(rng.ExpFloat64() * float64(2*time.Second)))
			key := rng.IntN(5)
			switch v := got.check(now, key); {
			case v != want.check(now, key):
				t.Fatalf("seed=%d: the verdict on %d is %v, want %v", seed, key, v, want.check(now, key))
			case v == mayTry && rng.IntN(2) == 0:
				got.begin(now, key)
				want.pending[key]++
				under = append(under, key)
			case rng.IntN(10) == 0 && v == mayTry:
				got.fail(now, key)
				want.failures[key] = append(want.failures[key], now)
			case len(under) > 0:
				i := rng.IntN(len(under))
				key, failed := under[i], rng.IntN(3) > 0
				under = slices.Delete(under, i, i+1)
				got.end(now, key, failed)
				want.pending[key]--
				if failed {
					want.failures[key] = append(want.failures[key], now)
				}
			}
		}
		for _, key := range under {
			got.end(now, key, false)
		}
		// All of it is forgotten a minute after its last failure.
		now = now.Add(time.Minute)
		got.begin(now, 99)
		if len(got.counts) != 1 {
			t.Errorf("seed=%d: %d counts are kept after a minute without a failure", seed, len(got.counts))
		}
		got.end(now, 99, false)
		if len(got.counts) != 0 || got.oldest != nil || got.newest != nil {
			t.Errorf("seed=%d: %d counts are left", seed, len(got.counts))
		}
	}
}

// T46: throttles by name and by address are bounded in memory, whatever is tried. Those that fail keep their count for
// as long as there is room.
func TestThrottleIsBounded(t *testing.T) {
	promise.Keeps(t, "T46", "account", 1)
	now := time.Now()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	addresses, names := newThrottle[netip.Prefix](now, 5), newThrottle[string](now, 5)
	busy := Source(netip.AddrFrom4([4]byte{1, 1, 1, 1}))
	addresses.begin(now, busy)
	for i := range 3 * maxThrottled {
		now = now.Add(time.Millisecond)
		from := Source(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
		name := string(append([]byte("a-name-of-twenty-one-"), byte(i>>16), byte(i>>8), byte(i)))
		for range 5 {
			addresses.fail(now, from)
			names.fail(now, name)
		}
		if addresses.check(now, from) != mayNot {
			t.Fatalf("the address %v may try a sixth time", from)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if len(addresses.counts) > maxThrottled || len(names.counts) > maxThrottled {
		t.Errorf("%d addresses and %d names are kept", len(addresses.counts), len(names.counts))
	}
	if addresses.counts[busy] == nil {
		t.Error("a try that is under way was forgotten")
	}
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d KiB", grown>>10)
	if grown > 12<<20 {
		t.Errorf("they take %d bytes, and doc.go says 12 MiB", grown)
	}
	runtime.KeepAlive(addresses)
	runtime.KeepAlive(names)
}

func TestThrottleWithoutALimit(t *testing.T) {
	now := time.Now()
	th := newThrottle[int](now, -1)
	for range 1000 {
		th.fail(now, 1)
		th.begin(now, 1)
		th.end(now, 1, true)
	}
	if th.check(now, 1) != mayTry || len(th.counts) != 0 {
		t.Errorf("%d counts are kept", len(th.counts))
	}
}

// A high limit costs no more memory in all than a low one.
func TestThrottleWithAHighLimit(t *testing.T) {
	if th := newThrottle[int](time.Now(), maxLimit); th.max*maxLimit > maxFailuresKept {
		t.Errorf("%d keys of %d failures", th.max, maxLimit)
	}
}
