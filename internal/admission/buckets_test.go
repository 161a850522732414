package admission

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit/chance"
	"parley/internal/promise"
)

// host returns one of the addresses of a /24.
func host(net, n int) netip.Addr {
	return netip.AddrFrom4([4]byte{198, byte(net >> 8), byte(net), byte(n)})
}

// replica: "At most 10 a second a source and 1,000 a second in all". In no window of a second,
// wherever it begins.
func TestNoticesAreLimitedAsWritten(t *testing.T) {
	seeds := 5
	if chance.Race { // one goroutine
		seeds = 1
	}
	forEachSeed(t, seeds, func(t *testing.T, rng *rand.Rand) {
		b := NewBuckets(BucketsConfig{}, testKey)
		networks := []int{20, 300}[rng.IntN(2)] // where the limit is that of the source, or of all
		type notice struct {
			at time.Duration
			to netip.Addr
		}
		var all []notice
		perSource := map[netip.Addr][]time.Duration{}
		for now := time.Duration(0); now < 10*time.Second; now += time.Duration(rng.Int64N(int64(200 * time.Microsecond))) {
			to := host(rng.IntN(networks), rng.IntN(2))
			if b.Allow(at(now), to, 1) {
				all = append(all, notice{now, to})
				perSource[to] = append(perSource[to], now)
			}
		}
		for i := range all {
			if j := i + 1000; j < len(all) && all[j].at-all[i].at <= time.Second {
				t.Fatalf("1,001 notices within a second, from %v", all[i].at)
			}
		}
		for to, times := range perSource {
			for i := range times {
				if j := i + 10; j < len(times) && times[j]-times[i] <= time.Second {
					t.Fatalf("11 notices to %v within a second, from %v", to, times[i])
				}
			}
		}
		if want := min(9000, networks*2*75); len(all) < want {
			t.Errorf("only %d notices in 10 s, want %d", len(all), want)
		}
	})
}

func TestBucketsTable(t *testing.T) {
	b := NewBuckets(BucketsConfig{
		Source: Limit{Rate: 3, Burst: 2}, Prefix: Limit{Rate: 10, Burst: 4}, Total: Limit{Rate: 10, Burst: 6},
	}, testKey)
	for _, tt := range []struct {
		name string
		at   time.Duration
		from string
		cost int
		want bool
	}{
		{"more than a burst never passes", 0, "192.0.2.1", 3, false},
		{"more than there can be never passes", 0, "192.0.2.1", math.MaxInt, false},
		{"the first of a burst", 0, "192.0.2.1", 1, true},
		{"the second of a burst", 0, "::ffff:192.0.2.1", 1, true},
		{"no third", 0, "192.0.2.1", 1, false},
		{"something free", 0, "192.0.2.1", 0, true},
		{"a neighbour", 0, "192.0.2.9", 2, true},
		{"the prefix is used up", 0, "192.0.2.7", 1, false},
		{"another prefix", 0, "192.0.3.7", 2, true},
		{"all is used up", 0, "2001:db8::1", 1, false},
		{"a third of a second later, one passes", 334 * time.Millisecond, "192.0.2.1", 1, true},
		{"but not two", 334 * time.Millisecond, "192.0.2.1", 1, false},
		{"much later there is not more than a burst", time.Hour, "192.0.2.1", 2, true},
		{"not more", time.Hour, "192.0.2.1", 1, false},
		{"what was refused cost nothing", time.Hour, "192.0.2.2", 2, true},
		{"a zone does not make another source of a global address", time.Hour, "2001:db8::1%eth0", 1, true},
		{"the same without it", time.Hour, "2001:db8::1", 1, true},
		{"and it is used up", time.Hour, "2001:db8::1", 1, false},
		{"less than nothing is nothing", time.Hour, "2001:db8::1", -1000, true},
		{"and earned nothing", time.Hour, "2001:db8::1", 1, false},
	} {
		if got := b.Allow(at(tt.at), addr(tt.from), tt.cost); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	want := BucketsStats{Allowed: 11, OverSource: 7, OverPrefix: 1, OverTotal: 1}
	if got := b.Stats(); got != want {
		t.Errorf("stats: got %+v, want %+v", got, want)
	}
}

func TestLinkLocalPeersOnTwoLinksAreTwoSources(t *testing.T) {
	b := NewBuckets(BucketsConfig{Source: Limit{Rate: 1, Burst: 1}}, testKey)
	for _, s := range []string{"fe80::1%eth0", "fe80::1%eth1"} {
		if !b.Allow(start, addr(s), 1) || b.Allow(start, addr(s), 1) {
			t.Errorf("%s does not have one unit", s)
		}
	}
}

// T32: someone floods with a victim's address. The victim's neighbours in its prefix lose at
// most what one address may use.
func TestAForgedAddressDoesNotStarveItsNeighbours(t *testing.T) {
	b := NewBuckets(BucketsConfig{}, testKey)
	asked, got := 0, 0
	var next time.Duration
	for i := range promise.Keeps(t, "T32", "admission", 100_000) {
		now := time.Duration(i) * 100 * time.Microsecond
		b.Allow(at(now), host(1, 66), 1)
		if now >= next { // 70 a second from neighbours, 10 + 70 is what the prefix has
			next += time.Second / 70
			asked++
			if b.Allow(at(now), host(1, 100+asked%100), 1) {
				got++
			}
		}
	}
	if got < asked {
		t.Errorf("neighbours got %d of %d", got, asked)
	}
}

// T32: someone forges all of a prefix. Another prefix does not notice.
func TestAForgedPrefixDoesNotStarveOthers(t *testing.T) {
	b := NewBuckets(BucketsConfig{}, testKey)
	inside, asked := 0, 0
	for i := range promise.Keeps(t, "T32", "admission", 100_000) {
		now := time.Duration(i) * 100 * time.Microsecond
		b.Allow(at(now), host(1, i), 1)
		if i%2000 == 0 { // 5 a second
			asked++
			if !b.Allow(at(now), host(2, 7), 1) {
				t.Fatalf("at %v: a source of another prefix is refused", now)
			}
			if b.Allow(at(now), host(1, 7), 1) {
				inside++
			}
		}
	}
	// As documented: a member of the forged prefix gets only its share of what is left.
	t.Logf("a member of the forged prefix got %d of %d", inside, asked)
	if inside == asked {
		t.Error("the prefix has no limit")
	}
}

// With far more sources than buckets, those that send much keep theirs: the flood of
// strangers does not wash away what a heavy one owes.
func TestHeavySourcesAreNotForgottenInAFlood(t *testing.T) {
	b := NewBuckets(BucketsConfig{Prefix: NoLimit, Total: NoLimit, Sources: 1024}, testKey)
	heavy := host(300, 1)
	got := 0
	rng := rand.New(rand.NewPCG(2, 2))
	seconds := tenth(t, 20)
	for i := range seconds * 50_000 {
		now := time.Duration(i) * 20 * time.Microsecond
		b.Allow(at(now), randomPeer(rng).Addr(), 1)
		if i%50 == 0 && b.Allow(at(now), heavy, 1) { // 1,000 a second
			got++
		}
	}
	t.Logf("heavy source got %d in %d s; %+v", got, seconds, b.Stats())
	if b.Stats().EvictedSource < uint64(seconds)*40_000 {
		t.Fatalf("no flood: %+v", b.Stats())
	}
	// 8 a second and 2 at once, and twice that for luck.
	if want := 2 * (8*seconds + 2); got > want {
		t.Errorf("a heavy source got %d, want at most %d", got, want)
	}
}

// A bucket is exact as long as it is not forgotten: compare with the plain definition.
func TestBucketsAgreeWithPlainOnes(t *testing.T) {
	type plain struct {
		tokens float64
		last   time.Duration
	}
	steps := tenth(t, 20_000)
	forEachSeed(t, 20, func(t *testing.T, rng *rand.Rand) {
		limit := Limit{Rate: 1 + rng.IntN(1000), Burst: 1 + rng.IntN(50)}
		b := NewBuckets(BucketsConfig{Source: limit, Prefix: NoLimit, Total: NoLimit}, testKey)
		model := map[netip.Addr]*plain{}
		now := time.Duration(0)
		for range steps {
			now += time.Duration(rng.ExpFloat64() * float64(time.Second) / float64(limit.Rate) / 2)
			from, cost := host(rng.IntN(10), 0), rng.IntN(4)
			m := model[from]
			if m == nil {
				m = &plain{tokens: float64(limit.Burst)}
				model[from] = m
			}
			m.tokens = min(float64(limit.Burst), m.tokens+(now-m.last).Seconds()*float64(limit.Rate))
			m.last = now
			close := m.tokens-float64(cost) < 1e-3 && m.tokens-float64(cost) > -1e-3
			got := b.Allow(at(now), from, cost)
			if want := m.tokens >= float64(cost); got != want && !close {
				t.Fatalf("%+v: cost %d with %v tokens: got %v", limit, cost, m.tokens, got)
			}
			if got {
				m.tokens -= float64(cost)
			}
		}
	})
}

func TestAWrongLimitIsAProgrammersMistake(t *testing.T) {
	for name, limit := range map[string]Limit{
		"a burst without a rate": {Burst: 5},
		"a rate too high":        {Rate: 1e9 + 1, Burst: 1},
		"a negative burst":       {Rate: 1, Burst: -1},
		"a burst too high":       {Rate: 1, Burst: 1e9 + 1},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			NewBuckets(BucketsConfig{Source: limit}, testKey)
		}()
	}
}
