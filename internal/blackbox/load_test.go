package blackbox

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"parley/internal/player"
	"parley/world"
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

// bots are so many of each dialect, in this process.
func bots(t testing.TB, l *loaded, each int, game world.Game, plain bool) *player.Crowd {
	sim, err := world.New(game, world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := &player.Crowd{Addrs: l.addrs, Bots: map[string]int{}, Seed: 1, Config: player.Config{Schema: sim.Schema(), Plain: plain}}
	for _, d := range player.Dialects {
		c.Bots[d] = each
	}
	return c
}

// 1,000 entities and 200 players, 40 of each dialect (stamp's watch), at 20 ticks a second, for as
// many ticks as there are iterations: the server in a process of its own, bots in this one, on the
// same cores. Bots steer about twice a second, throw each two and speak each ten.
func BenchmarkOneThousandEntities(b *testing.B) {
	const each = 40
	game := driftingArena(1000 - 4*each)
	l := startLoaded(b, loadConfig{Entities: 1000 - 4*each, Players: 1000})
	crowd := bots(b, l, each, game, false)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	results := make(chan []player.Result, 1)
	go func() { results <- crowd.Run(ctx) }()
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
	cancel()
	n := float64(f.Ticks)
	b.ReportMetric(milliseconds(f.P50), "tick-p50-ms")
	b.ReportMetric(milliseconds(f.P99), "tick-p99-ms")
	b.ReportMetric(milliseconds(f.Longest), "tick-max-ms")
	b.ReportMetric(milliseconds(f.CPU)/n, "server-cpu-ms/tick")
	b.ReportMetric(milliseconds(mine)/n, "bots-cpu-ms/tick")
	b.ReportMetric(float64(f.Mallocs)/n, "server-allocs/tick")
	b.ReportMetric(milliseconds(f.GCPauseP99), "gc-p99-ms")
	b.Logf("load %s; %d ticks, %d late, %d let go; %d collections; %d MB resident", machineLoad(), f.Ticks, f.Late, f.Skips, f.GCs, f.Resident>>20)
	for _, r := range <-results {
		b.Logf("%s: %d of %d connected, %d errors %s; seen %d of %d; heard %d of %d; p50 %v p99 %v", r.Dialect, r.Connected, r.Bots, r.Errors, r.Error,
			r.Seen, r.Steered, r.Heard, r.Said, r.P50.Round(time.Millisecond), r.P99.Round(time.Millisecond))
		if r.Connected != r.Bots || r.Errors > 0 {
			b.Errorf("%s: %d of %d connected, %d errors, such as %s", r.Dialect, r.Connected, r.Bots, r.Errors, r.Error)
		}
	}
}
