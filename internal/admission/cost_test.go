package admission

import (
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"
	"time"
)

// everything is one of each, as a server would have it.
type everything struct {
	half    *HalfOpen[[256]byte]
	buckets *Buckets
	ended   *Ended
	ignored *Ignored
	secret  *Secret
}

func newEverything() *everything {
	return &everything{
		half:    NewHalfOpen[[256]byte](HalfOpenConfig{}, testKey),
		buckets: NewBuckets(BucketsConfig{}, testKey),
		ended:   NewEnded(testKey),
		ignored: NewIgnored(testKey),
		secret:  NewSecret(start, testKey),
	}
}

// use does all there is with one source.
func (e *everything) use(now time.Time, from netip.AddrPort) {
	if e.ignored.Has(now, from) {
		return
	}
	e.buckets.Allow(now, from.Addr(), 1)
	e.half.Open(now, from)
	e.half.Open(now, from)
	if e.secret.Check(now, from, e.secret.Token(now, from)) && from.Port()%16 == 0 {
		e.half.Prove(now, from)
		e.ended.End(now, from, e.ended.Next(now, from))
		e.ignored.Add(now, from)
	}
	e.secret.Clock(from, 1)
}

func TestNothingAllocatesAndMemoryIsBounded(t *testing.T) {
	before := heapBytes()
	e := newEverything()
	born := heapBytes() - before
	if born > 3<<20 {
		t.Errorf("at birth it takes %d bytes, want at most 3 MiB", born)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	now := start
	for _, phase := range []string{"empty", "full"} {
		allocs := testing.AllocsPerRun(20_000, func() {
			now = now.Add(50 * time.Microsecond)
			e.use(now, randomPeerWithoutZone(rng))
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations a source", phase, allocs)
		}
	}
	if e.half.Len() != 4096 {
		t.Fatalf("not full: %d", e.half.Len())
	}
	if got := heapBytes() - before; got > born+64<<10 {
		t.Errorf("it takes %d bytes after use, %d at birth", got, born)
	}
	t.Logf("all together take %d KiB", born>>10)
	runtime.KeepAlive(e)
}

// randomPeerWithoutZone is randomPeer without WithZone, which allocates.
func randomPeerWithoutZone(rng *rand.Rand) netip.AddrPort {
	var b [16]byte
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	if b[0]&1 == 0 {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[:4])), uint16(b[5])<<8|uint16(b[6]))
	}
	return netip.AddrPortFrom(netip.AddrFrom16(b), uint16(b[5])<<8|uint16(b[6]))
}

func TestAZoneDoesNotAllocate(t *testing.T) {
	e := newEverything()
	from := addrPort("[fe80::1%eth0]:5")
	if allocs := testing.AllocsPerRun(1000, func() { e.use(start, from) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// A clock that goes back breaks nothing.
func TestAClockThatGoesBack(t *testing.T) {
	steps := tenth(t, 20_000)
	forEachSeed(t, 5, func(t *testing.T, rng *rand.Rand) {
		e := newEverything()
		for range steps {
			now := at(time.Duration(rng.Int64N(int64(20*time.Second))) - 10*time.Second)
			e.use(now, peer(rng.IntN(10_000)))
		}
		checkTable(t, &e.half.table)
		checkTable(t, &e.ended.table)
		checkTable(t, &e.ignored.table)
		late := at(2 * time.Minute)
		e.half.Expire(late)
		if e.half.Len() != 0 {
			t.Errorf("%d never run out", e.half.Len())
		}
	})
}

func benchmark(b *testing.B, f func(now time.Time, from netip.AddrPort)) {
	b.ReportAllocs()
	rng := rand.New(rand.NewPCG(4, 4))
	peers := make([]netip.AddrPort, 1<<16)
	for i := range peers {
		peers[i] = randomPeerWithoutZone(rng)
	}
	now, i := start, 0
	for b.Loop() {
		now = now.Add(10 * time.Microsecond)
		f(now, peers[i%len(peers)])
		i++
	}
}

func BenchmarkHalfOpenFlood(b *testing.B) {
	h := NewHalfOpen[[256]byte](HalfOpenConfig{}, testKey)
	benchmark(b, func(now time.Time, from netip.AddrPort) { h.Open(now, from) })
}

func BenchmarkHalfOpenEvict(b *testing.B) {
	h := NewHalfOpen[[256]byte](HalfOpenConfig{Crowded: -1}, testKey)
	benchmark(b, func(now time.Time, from netip.AddrPort) { h.Open(now, from) })
}

func BenchmarkBucketsAllow(b *testing.B) {
	buckets := NewBuckets(BucketsConfig{Total: NoLimit}, testKey)
	benchmark(b, func(now time.Time, from netip.AddrPort) { buckets.Allow(now, from.Addr(), 1) })
}

func BenchmarkSecretClock(b *testing.B) {
	s := NewSecret(start, testKey)
	benchmark(b, func(_ time.Time, from netip.AddrPort) { s.Clock(from, 0) })
}

func BenchmarkSecretCheck(b *testing.B) {
	s := NewSecret(start, testKey)
	benchmark(b, func(now time.Time, from netip.AddrPort) { s.Check(now, from, Token{}) })
}

func BenchmarkIgnoredHas(b *testing.B) {
	g := NewIgnored(testKey)
	benchmark(b, func(now time.Time, from netip.AddrPort) { g.Has(now, from) })
}

// BenchmarkExpireAll is the worst that one timer can find: a full table, all of it out of date.
func BenchmarkExpireAll(b *testing.B) {
	h := NewHalfOpen[[256]byte](HalfOpenConfig{Crowded: -1}, testKey)
	now := start
	for b.Loop() {
		b.StopTimer()
		for i := range 4096 {
			h.Open(now, peer(i))
		}
		now = now.Add(halfOpenLife)
		b.StartTimer()
		h.Expire(now)
	}
}
