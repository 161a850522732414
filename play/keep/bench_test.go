package keep

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/world"
)

// BenchmarkSync is what a disk does: files to which something was written are synced one after another, and side by side.
func BenchmarkSync(b *testing.B) {
	for _, n := range []int{1, 200, 1000} {
		for _, hands := range []int{1, maxSyncs} {
			if hands > n {
				continue
			}
			b.Run(fmt.Sprintf("%d files, %d at a time", n, hands), func(b *testing.B) {
				dir := b.TempDir()
				files := make([]*Room, n)
				for i := range files {
					f, err := osDisk{}.Create(filepath.Join(dir, fmt.Sprint(i)))
					if err != nil {
						b.Fatal(err)
					}
					defer f.Close()
					files[i] = &Room{file: segment{file: f}}
				}
				entry := make([]byte, 62)
				for b.Loop() {
					each(files, hands, func(r *Room) {
						r.file.Write(entry)
						if err := r.file.Sync(); err != nil {
							b.Error(err)
						}
					})
				}
			})
		}
	}
}

// BenchmarkRooms keeps rooms of two players at 20 ticks a second. It reports how long an entry takes until it is safe, and how much of a
// processor keeping takes, with the entries' making.
func BenchmarkRooms(b *testing.B) {
	for _, mode := range []Mode{Second, Tick} {
		for _, n := range []int{1, 200, 1000} {
			b.Run(fmt.Sprintf("%v, %d rooms", mode, n), func(b *testing.B) { benchRooms(b, mode, n) })
		}
	}
}

func benchRooms(b *testing.B, mode Mode, n int) {
	s := openShelf(b, Config{Dir: b.TempDir(), Mode: mode})
	rooms := make([]*Room, n)
	began := time.Now()
	for i := range rooms {
		sim, err := world.New(game(), world.Config{Seed: uint64(i)})
		if err != nil {
			b.Fatal(err)
		}
		sim.Keep(node, 1)
		if rooms[i], err = s.Room(fmt.Sprint("room", i), sim, nil); err != nil {
			b.Fatal(err)
		}
	}
	for s.Stats().Snapshots < uint64(n) {
		time.Sleep(time.Millisecond)
	}
	opened := time.Since(began)
	entry := make([]byte, 62)
	var waits []time.Duration
	var mu sync.Mutex
	before := cpu()
	ticks := uint64(0)
	for b.Loop() { // a second
		for range 20 {
			start := time.Now()
			for _, r := range rooms {
				r.Append(ticks, entry)
			}
			ticks++
			at := start
			for i := 0; i < n; {
				if rooms[i].Safe() >= ticks {
					i++
					continue
				}
				patient.Value(s.Notify())
				at = time.Now()
			}
			mu.Lock()
			waits = append(waits, at.Sub(start))
			mu.Unlock()
			time.Sleep(time.Until(start.Add(50 * time.Millisecond)))
		}
	}
	worst, sum := time.Duration(0), time.Duration(0)
	for _, w := range waits {
		worst, sum = max(worst, w), sum+w
	}
	st := s.Stats()
	b.ReportMetric(float64(opened.Milliseconds()), "ms-to-open")
	b.ReportMetric(float64(sum.Microseconds())/float64(len(waits)), "µs-until-safe")
	b.ReportMetric(float64(worst.Microseconds()), "µs-worst")
	b.ReportMetric(float64(st.Syncs)/float64(b.N), "syncs/s")
	b.ReportMetric(float64(cpu()-before)/float64(b.N)/1e9, "cpus")
	if st.Dropped > 0 || s.Trouble() != nil {
		b.Errorf("%+v %v", st, s.Trouble())
	}
}
