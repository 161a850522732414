package clocksync

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"parley/internal/kit/chance"
)

// forEachSeed runs f for n seeds, or only for the one given by -seed. PARLEY_SOAK=1 runs ten
// times as many.
func forEachSeed(t *testing.T, n int, f func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	if os.Getenv("PARLEY_SOAK") == "1" {
		n *= 10
	}
	for _, seed := range chance.Seeds(n) {
		if !t.Failed() {
			runSeed(t, seed, f)
		}
	}
}

// runSeed prints the seed whichever way f fails.
func runSeed(t *testing.T, seed uint64, f func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	passed := false
	defer func() {
		if !passed {
			t.Logf("seed=%d", seed)
		}
	}()
	f(t, rand.New(rand.NewPCG(seed, 15)))
	passed = !t.Failed()
}

// origin is local time 0 of the simulations.
var origin = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// drifting is a clock that is off true time by a rate within ±ppm, another one each ten
// seconds. Times are ns since the start of the simulation.
type drifting struct {
	rates []int64 // ppm of each segment
	start []int64 // what the clock shows at the start of each segment
}

const segment = int64(10 * time.Second)

func newDrifting(rng *rand.Rand, ppm int64, length time.Duration) *drifting {
	d := &drifting{}
	shown := int64(0)
	for at := int64(0); at <= int64(length); at += segment {
		rate := rng.Int64N(2*ppm+1) - ppm
		switch rng.IntN(4) {
		case 0:
			rate = ppm
		case 1:
			rate = -ppm
		}
		d.rates, d.start = append(d.rates, rate), append(d.start, shown)
		shown += segment + segment/1_000_000*rate
	}
	return d
}

// at returns what the clock shows at true time t.
func (d *drifting) at(t int64) int64 {
	i := min(max(t, 0)/segment, int64(len(d.rates)-1))
	into := t - i*segment
	return d.start[i] + into + into*d.rates[i]/1_000_000
}

// sim is a local and a remote clock and a network between them.
type sim struct {
	rng           *rand.Rand
	local, remote *drifting
	base          uint64        // remote time at the start, µs
	out, in       time.Duration // least delay each way
	jitter        time.Duration // mean of what is added to it
	loss          float64
}

func newSim(rng *rand.Rand, length time.Duration) *sim {
	s := &sim{
		rng: rng, base: rng.Uint64(),
		local:  newDrifting(rng, 500, length+time.Minute),
		remote: newDrifting(rng, 500, length+time.Minute),
		out:    time.Duration(rng.Int64N(int64(150 * time.Millisecond))),
		in:     time.Duration(rng.Int64N(int64(150 * time.Millisecond))),
		jitter: time.Duration(rng.Int64N(int64(50 * time.Millisecond))),
		loss:   rng.Float64() * 0.5,
	}
	if rng.IntN(4) == 0 { // a local network
		s.out, s.in, s.jitter = s.out/1000, s.in/1000, s.jitter/1000
	}
	return s
}

func (s *sim) localAt(t int64) time.Time { return origin.Add(time.Duration(s.local.at(t))) }
func (s *sim) remoteAt(t int64) uint64   { return s.base + uint64(floorDiv(s.remote.at(t), 1000)) }

// truthAt is the remote time in ns that the reader could know if it knew all, relative to
// base.
func (s *sim) truthAt(t int64) int64 { return s.remote.at(t) }

func (s *sim) delay(least time.Duration) int64 {
	return int64(least) + int64(s.rng.ExpFloat64()*float64(s.jitter))
}

// arrival is something that happens at a true time.
type arrival struct {
	at int64
	do func()
}

// run performs arrivals in order, calling read before and after each and at random times
// between them.
func (s *sim) run(arrivals []arrival, read func(t int64)) {
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return int(a.at - b.at) })
	last := int64(0)
	for _, a := range arrivals {
		between := []int64{last, a.at}
		for range 5 {
			between = append(between, last+s.rng.Int64N(a.at-last+1))
		}
		slices.Sort(between)
		for _, t := range between {
			read(t)
		}
		a.do()
		read(a.at)
		last = a.at
	}
}

// reader is what FourTime and OneWay have in common.
type reader interface {
	Synced() bool
	Remote(time.Time) uint64
	Local(uint64) time.Time
	RTT() time.Duration
	ErrorBound(time.Time) time.Duration
}

// watch checks what must hold for every reading: it is within the bound of the truth, it
// never goes back, and Local inverts it.
type watch struct {
	t        *testing.T
	s        *sim
	c        reader
	seen     bool
	last     uint64
	lastTime int64
	worst    time.Duration // largest error since clear
}

func (w *watch) read(t int64) {
	if !w.c.Synced() || w.t.Failed() {
		return
	}
	now := w.s.localAt(t)
	got := w.c.Remote(now)
	err := time.Duration(int64(got-w.s.base)*1000 - w.s.truthAt(t)).Abs()
	w.worst = max(w.worst, err)
	if bound := w.c.ErrorBound(now); err > bound {
		w.t.Errorf("at %v: off by %v, bound says %v", time.Duration(t), err, bound)
	}
	if w.seen && int64(got-w.last) < 0 {
		w.t.Errorf("at %v: read %d after %d at %v", time.Duration(t), got, w.last, time.Duration(w.lastTime))
	}
	w.seen, w.last, w.lastTime = true, got, t
	if back := w.c.Local(got); back.After(now) || now.Sub(back) > 1100*time.Nanosecond {
		w.t.Errorf("at %v: Local(Remote(now)) is %v away from now", time.Duration(t), back.Sub(now))
	}
}
