package blackbox

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/play/bots"
	"parley/protocol/replica"
	"parley/test/field"
)

// machineLoad is what else the machine does, if it tells.
func machineLoad() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

// crowdOf returns so many bots of each dialect, in this process.
func crowdOf(t testing.TB, l *loaded, c loadConfig, each int) *bots.Crowd {
	crowd := &bots.Crowd{Addrs: l.addrs, Bots: map[string]int{}, Seed: 1, Config: bots.Config{Schema: field.Schema(t, c.game()), Plain: c.Plain, TickRate: c.TickRate}}
	for _, d := range bots.Dialects {
		crowd.Bots[d] = each
	}
	return crowd
}

// play runs a crowd until stop is called, which returns what came of it.
func play(t testing.TB, crowd *bots.Crowd) (stop func() []bots.Result) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan []bots.Result, 1)
	go func() { ended <- crowd.Run(ctx) }()
	return sync.OnceValue(func() []bots.Result {
		cancel()
		return patient.Value(ended)
	})
}

// 1,000 entities and 200 players, 40 of each dialect (stamp's watch), at 20 ticks a second, for as
// many ticks as there are iterations: the server in a process of its own, bots in this one, on the
// same cores. Bots steer about twice a second, throw each two and speak each ten.
func BenchmarkOneThousandEntities(b *testing.B) {
	const each = 40
	// The machine alone, before anything of ours runs: the same length as often as there will be ticks.
	spinP50, spinP99 := spins(b, max(b.N, 200), 5*time.Millisecond)
	config := loadConfig{Drifters: 1000 - 4*each, Favoured: true}
	l := startLoaded(b, config)
	stop := play(b, crowdOf(b, l, config, each))
	defer stop()
	clock := time.NewTicker(time.Second / 20)
	defer clock.Stop()
	for f := l.say(loadFigures); f.Players < 4*each || f.Spectators < each; f = l.say(loadFigures) {
		<-clock.C
	}
	for range 60 { // all is in sight, and what is made once is made
		<-clock.C
	}
	l.say(loadMark)
	mine := processCPU()
	for b.Loop() {
		<-clock.C
	}
	f := l.say(loadFigures)
	mine = processCPU() - mine
	results := stop()
	n := float64(f.Ticks)
	b.ReportMetric(milliseconds(f.P50), "tick-p50-ms")
	b.ReportMetric(milliseconds(f.P99), "tick-p99-ms")
	b.ReportMetric(milliseconds(f.Longest), "tick-max-ms")
	b.ReportMetric(milliseconds(spinP50), "spin-p50-ms")
	b.ReportMetric(milliseconds(spinP99), "spin-p99-ms")
	b.ReportMetric(milliseconds(f.CPU)/n, "server-cpu-ms/tick")
	b.ReportMetric(milliseconds(mine)/n, "bots-cpu-ms/tick")
	b.ReportMetric(float64(f.Mallocs)/n, "server-allocs/tick")
	b.ReportMetric(milliseconds(f.GCPauseP99), "gc-p99-ms")
	b.Logf("load %s; favoured %v; %d ticks, %d late, %d let go; %d collections; %d MB resident", machineLoad(), f.Favoured, f.Ticks, f.Late, f.Skips, f.GCs, f.Resident>>20)
	for _, r := range results {
		b.Logf("%s: %d of %d connected, %d errors %s; seen %d of %d; heard %d of %d; p50 %v p99 %v", r.Dialect, r.Connected, r.Bots, r.Errors, r.Error,
			r.Seen, r.Steered, r.Heard, r.Said, r.P50.Round(time.Millisecond), r.P99.Round(time.Millisecond))
		if r.Connected != r.Bots || r.Errors > 0 {
			b.Errorf("%s: %d of %d connected, %d errors, such as %s", r.Dialect, r.Connected, r.Bots, r.Errors, r.Error)
		}
	}
}

// 100 clients of replica, 100 objects that move on three axes, 60 times a second: the bytes that an
// object costs a client in a tick, and the CPU of the server, which is a process of its own. The
// clients are in this one, and acknowledge.
func BenchmarkReplicaHundredByHundred(b *testing.B) {
	const objects, viewers, rate = 100, 100, 60
	l := startLoaded(b, loadConfig{Vessels: objects, TickRate: rate, Sight: -1})
	var wg sync.WaitGroup
	var clients []*replica.Client
	var told atomic.Int64
	for range viewers {
		c, err := replica.Dial(b.Context(), l.addrs["replica"], replica.Config{})
		if err == nil {
			err = c.Link()
		}
		if err != nil {
			b.Fatal(err)
		}
		clients = append(clients, c)
		wg.Go(func() {
			for ev := range c.Events() {
				if ev.Kind == replica.EventReplicated {
					told.Add(1)
				}
			}
		})
	}
	clock := time.NewTicker(time.Second / rate)
	defer clock.Stop()
	for l.say(loadFigures).Players < viewers {
		<-clock.C
	}
	for range 2 * rate { // all is linked and shown
		<-clock.C
	}
	l.say(loadMark)
	mine, before := processCPU(), told.Load()
	for b.Loop() {
		<-clock.C
	}
	f := l.say(loadFigures)
	mine = processCPU() - mine
	n := float64(f.Ticks)
	b.ReportMetric(float64(f.ReplicaBytes)/n/objects/viewers, "bytes/object-tick")
	b.ReportMetric(float64(f.ReplicaBytes)/n*rate*8/1e6/viewers, "Mbit/s/client")
	b.ReportMetric(milliseconds(f.CPU)/n, "server-cpu-ms/tick")
	b.ReportMetric(milliseconds(mine)/n, "clients-cpu-ms/tick")
	b.ReportMetric(milliseconds(f.P50), "tick-p50-ms")
	b.ReportMetric(milliseconds(f.P99), "tick-p99-ms")
	b.ReportMetric(float64(f.Mallocs)/n, "server-allocs/tick")
	b.Logf("load %s; %d ticks, %d late, %d let go; %d datagrams of values came", machineLoad(), f.Ticks, f.Late, f.Skips, told.Load()-before)
	for _, c := range clients {
		wg.Go(func() { c.Close(context.Background()) })
	}
	patient.Done(wg.Wait)
}

// prTier skips a test that is too long for every run: the gate sets PARLEY_PR.
func prTier(t *testing.T) {
	t.Helper()
	if os.Getenv("PARLEY_PR") == "" && os.Getenv("PARLEY_SOAK") == "" {
		t.Skip("set PARLEY_PR=1 to run it")
	}
}

// A server whose players walk, throw and speak over all dialects allocates nothing in a tick once
// its tables have grown. They grow to what was the most at once, which by chance comes late; so guests come
// before, three times as many people among four times as many things, and leave again. What by chance is
// still more than ever before is seen in few seconds: of twelve in a row, four must be without a single allocation,
// within a minute, as tables that grow by chance grow less and less.
// A second with late ticks says nothing, as packets are sent again and tables grow for them; a machine that
// has few others is given fewer players. TLS is left out.
func TestATickOverTheWireAllocatesNothing(t *testing.T) {
	prTier(t)
	for each := 8; each > 0; each /= 2 {
		clean, judged, faults := tickAllocations(t, each)
		t.Logf("%d players a dialect: of %d seconds %d of the last %d were without an allocation", each, judged, clean, inARow)
		if clean == enoughClean || judged == mostJudged {
			for _, fault := range faults {
				t.Error(fault)
			}
		}
		if clean == enoughClean {
			return
		}
		if judged == mostJudged {
			t.Fatalf("after %d seconds only %d of %d were without an allocation", judged, clean, inARow)
		}
	}
	t.Fatal("even with one player of each dialect hardly a second was without late ticks")
}

const enoughClean, inARow, mostJudged = 4, 12, 60 // seconds of TestATickOverTheWireAllocatesNothing

// tickAllocations serves so many players of each dialect, and returns how many seconds were judged, how many
// of the last twelve were without an allocation, and which bots failed.
func tickAllocations(t *testing.T, each int) (clean, judged int, faults []string) {
	guests := 2 * each
	const rate = 30
	config := loadConfig{Drifters: 25 * each, Allocs: true, Plain: true, TickRate: rate, Swell: 4*(each+guests) - 1}
	l := startLoaded(t, config)
	clock := time.NewTicker(time.Second / rate)
	defer clock.Stop()
	ticks := func(n uint64) {
		for from := l.say(loadFigures).Ticks; l.say(loadFigures).Ticks < from+n; {
			<-clock.C
		}
	}
	are := func(each int) bool {
		for until := l.say(loadFigures).Ticks + 30*rate; ; <-clock.C {
			f := l.say(loadFigures)
			if f.Players == 4*each && f.Spectators == each {
				return true
			}
			if f.Ticks > until {
				t.Logf("%d players and %d spectators are in after %d ticks, of which %d were late: want %d and %d", f.Players, f.Spectators, f.Ticks, f.Late, 4*each, each)
				return false
			}
		}
	}
	come := func(n int, seed uint64) (leave func()) {
		crowd := crowdOf(t, l, config, n)
		crowd.Seed = seed
		stop := play(t, crowd)
		return func() {
			for _, r := range stop() {
				if r.Errors > 0 {
					faults = append(faults, fmt.Sprintf("%s: %d of %d bots failed: %s", r.Dialect, r.Errors, r.Bots, r.Error))
				}
			}
		}
	}
	defer come(each, 1)()
	leave := sync.OnceFunc(come(guests, 2))
	defer leave()
	if !are(each + guests) {
		return 0, 0, faults
	}
	l.say(loadChatter)
	ticks(4 * rate)
	leave()
	if !are(each) {
		return 0, 0, faults
	}
	ticks(rate)
	var row [inARow]bool // whether each of the last seconds was clean
	for second, late := 0, 0; late < inARow && judged < mostJudged && clean < enoughClean; second++ {
		l.say(loadMark)
		ticks(rate)
		f := l.say(loadFigures)
		t.Logf("second %d: %d ticks, %d of them late, allocations at %d places", second, f.Ticks, f.Late, len(f.Allocs))
		for _, a := range f.Allocs {
			t.Logf("%d: %s", a.Count, a.Calls)
		}
		if f.Late > 0 && len(f.Allocs) > 0 {
			late++
			continue
		}
		if row[judged%inARow] { // it is no longer among the last
			clean--
		}
		if row[judged%inARow] = len(f.Allocs) == 0; row[judged%inARow] {
			clean++
		}
		judged++
	}
	return clean, judged, faults
}
