package cluster

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/internal/patient"
)

// BenchmarkAppend measures what the store takes: entries a second of 64 rooms that each have one append under way, and how long one takes.
func BenchmarkAppend(b *testing.B) {
	for _, replicas := range []int{1, 3} {
		b.Run(fmt.Sprintf("replicas=%d", replicas), func(b *testing.B) { benchAppend(b, replicas) })
	}
}

func benchAppend(b *testing.B, replicas int) {
	defer patient.End().Stop()
	addrs := freePorts(b, replicas)
	var nodes []*Node
	for i := range addrs {
		n, err := Start(Config{Name: "bench", Listen: addrs[i], Peers: slices.Delete(slices.Clone(addrs), i, i+1), Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(n.Close)
		nodes = append(nodes, n)
	}
	n := nodes[0]
	<-n.Ready()
	const rooms = 64
	shelves, lasts := make([]shelf, rooms), make([]uint64, rooms)
	entry := make([]byte, 200)
	for i := range shelves {
		key := fmt.Sprintf("room-%d-%d", b.N, i)
		shelves[i] = shelf{node: n, name: key, key: key}
		for end := time.Now().Add(time.Minute); lasts[i] == 0; { // its stream elects a leader
			var err error
			if lasts[i], _, _, err = shelves[i].offer(b.Context(), 0, false, entry); err != nil && time.Now().After(end) {
				b.Fatal(err)
			}
		}
	}
	cpu := cpuTime()
	var next atomic.Int64
	var took atomic.Int64
	b.ResetTimer()
	began := time.Now()
	var work sync.WaitGroup
	for i := range shelves {
		work.Go(func() {
			last := lasts[i]
			for next.Add(1) <= int64(b.N) {
				at := time.Now()
				seq, taken, _, err := shelves[i].offer(b.Context(), last, false, entry)
				if err != nil || taken {
					b.Error(taken, err)
					return
				}
				took.Add(int64(time.Since(at)))
				last = seq
			}
		})
	}
	work.Wait()
	b.StopTimer()
	spent := cpuTime() - cpu
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "appends/s")
	b.ReportMetric(float64(b.N)/spent.Seconds(), "appends/core-s")
	b.ReportMetric(float64(took.Load())/float64(b.N)/1e6, "ms/append")
}

// BenchmarkRooms measures what rooms cost that are 20 ticks a second on one node of three: the log has each tick before it is run, or a second of them at once. All
// servers of NATS are in this process. Each room has ten requests of its players in a tick.
func BenchmarkRooms(b *testing.B) {
	for _, batch := range []time.Duration{0, time.Second} {
		b.Run(fmt.Sprintf("batch=%v", batch), func(b *testing.B) { benchRooms(b, batch) })
	}
}

func benchRooms(b *testing.B, batch time.Duration) {
	defer patient.End().Stop()
	addrs := freePorts(b, 3)
	var n *Node
	for i := range addrs {
		var err error
		if n, err = Start(Config{Name: "bench", Listen: addrs[i], Peers: slices.Delete(slices.Clone(addrs), i, i+1), Dir: b.TempDir(), Batch: batch}); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(n.Close)
	}
	<-n.Ready()
	const rooms, period = 50, 50 * time.Millisecond
	over, ticks := make(chan struct{}), atomic.Int64{}
	b.Cleanup(func() { close(over) })
	do := make(chan func(), 1024)
	run := func(fn func()) bool {
		select {
		case do <- fn:
			return true
		case <-over:
			return false
		}
	}
	var all []*Room
	for i := range rooms {
		w := newToy(func(uint64, uint64, []toyRequest) { ticks.Add(1) })
		r, err := n.Open(fmt.Sprint("room-", i), RoomConfig{Period: period, World: w, Run: run})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, r)
	}
	go func() { // the owner of all rooms
		asks := time.NewTicker(period)
		defer asks.Stop()
		for {
			select {
			case fn := <-do:
				fn()
			case <-asks.C:
				for _, r := range all {
					for range 10 {
						_, _ = r.Ask([]byte("move")) // a room that has no sequencer yet takes only so many
					}
				}
			case <-over:
				return
			}
		}
	}()
	<-time.After(15 * time.Second) // each room has its sequencer, and knows that nobody else has a part in it
	b.ResetTimer()
	const span = 10 * time.Second
	for range b.N {
		cpu, before := cpuTime(), ticks.Load()
		<-time.After(span)
		spent := (cpuTime() - cpu).Seconds()
		made := float64(ticks.Load() - before)
		b.ReportMetric(made/span.Seconds()/rooms, "ticks/s-room")
		b.ReportMetric(spent/made*1e6, "cpu-us/tick")
		b.ReportMetric(made/spent/20, "rooms/core")
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
