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
			if lasts[i], _, err = shelves[i].offer(b.Context(), 0, entry); err != nil && time.Now().After(end) {
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
				seq, taken, err := shelves[i].offer(b.Context(), last, entry)
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

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
