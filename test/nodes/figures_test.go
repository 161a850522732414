package nodes

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/kit/cable"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/test/field"
)

// TestFigures measures what docs/cluster.md tells: PARLEY_FIGURES=1 runs it. It judges nothing.
func TestFigures(t *testing.T) {
	if os.Getenv("PARLEY_FIGURES") == "" {
		t.Skip("it measures for minutes, and judges nothing: PARLEY_FIGURES=1 runs it")
	}
	for _, tt := range []figure{{6, 20, 128}, {60, 20, 128}, {300, 20, 128}, {600, 20, 128}, {3000, 4, 16}} {
		t.Run(fmt.Sprint(tt.players, " players"), func(t *testing.T) {
			for _, servers := range []int{1, 3} {
				measure(t, servers, tt)
			}
		})
	}
}

// figure is what is measured. By default a server has 20 ticks a second, and players see 128 cells away: with 3,000 players that is too much for a machine
// that has two cores for three servers and all players.
type figure struct {
	players, tickRate int
	sight             float64
}

// span is how long is measured, after all bots had time to come.
const span = 20 * time.Second

// measure has bots of replica play in one room of the arena, on so many servers.
func measure(t *testing.T, servers int, f figure) {
	players := f.players
	first := freePorts(t, servers*ports)
	var machines []*machine
	var wires *cable.Cable
	var addrs []string
	for i := range servers {
		addrs = append(addrs, fmt.Sprintf("127.0.0.1:%d", first+servers*inARow+i))
	}
	if servers > 1 {
		wires = cable.New(t, addrs)
	}
	var work sync.WaitGroup
	for i, addr := range addrs {
		m := &machine{t: t, story: newStory(), c: childConfig{Listen: addr, Dir: t.TempDir(), Ports: first + inARow*i, TickRate: f.tickRate, Sight: f.sight, Alone: servers == 1}}
		if servers > 1 {
			m.c.Advertise, m.c.Peers = wires.Addrs()[i], slices.Delete(wires.Addrs(), i, i+1)
		}
		machines = append(machines, m)
		t.Cleanup(m.kill)
		work.Go(m.start)
	}
	patient.Done(work.Wait)
	if t.Failed() {
		t.FailNow()
	}
	ctx, leave := context.WithCancel(context.Background())
	results := make([][]bots.Result, servers)
	var joined sync.WaitGroup
	joined.Add(players)
	for i, m := range machines {
		c := bots.Crowd{
			Addrs: map[string]string{"replica": m.addr("replica")}, Bots: map[string]int{"replica": players / servers}, Config: bots.Config{Schema: field.Schema(t, arena.Game()), TickRate: f.tickRate},
			Seed: uint64(i + 1), Name: fmt.Sprint("bot-", i), Joined: joined.Done,
		}
		work.Go(func() { results[i] = c.Run(ctx) })
	}
	patient.Done(joined.Wait)
	<-time.After(3 * time.Second)
	before, mine, bytes := asks(machines), cpuTime(), carried(wires)
	<-time.After(span)
	after, mine, bytes := asks(machines), cpuTime()-mine, carried(wires)-bytes
	leave()
	patient.Done(work.Wait)
	load, _ := os.ReadFile("/proc/loadavg")
	t.Logf("%d players on %d servers, %d ticks a second, sight %v; the bots took %.0f%% of a core; load %s", players, servers, f.tickRate, f.sight, 100*mine.Seconds()/span.Seconds(), strings.TrimSpace(string(load)))
	ticks := max(1, after[0].Ticks-before[0].Ticks)
	for i := range machines {
		cpu := after[i].CPU - before[i].CPU
		t.Logf("server %d: makes entries %t, %d seats, %.1f%% of a core, %v for each tick, ticks p50 %v p99 %v of all, %.1f ticks a second", i, after[i].Sequences, after[i].Seats,
			100*cpu.Seconds()/span.Seconds(), (cpu / time.Duration(max(1, after[i].Ticks-before[i].Ticks))).Round(10*time.Microsecond), after[i].P50, after[i].P99,
			float64(after[i].Ticks-before[i].Ticks)/span.Seconds())
		for _, r := range results[i] {
			t.Logf("  %d bots in, %d errors %q; from asking to seeing p50 %v p99 %v (%d of %d)", r.Connected, r.Errors, r.Error, r.P50.Round(time.Millisecond), r.P99.Round(time.Millisecond), r.Seen, r.Steered)
		}
	}
	if servers > 1 {
		t.Logf("%d bytes between the servers for each tick", bytes/int64(ticks))
	}
	for _, m := range machines {
		m.kill()
	}
}

// asks asks all servers what they have used.
func asks(machines []*machine) (list []childIs) {
	for _, m := range machines {
		list = append(list, m.ask(""))
	}
	return list
}

func carried(c *cable.Cable) int64 {
	if c == nil {
		return 0
	}
	return c.Carried()
}
