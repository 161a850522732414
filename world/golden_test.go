package world

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"parley/internal/promise"
)

var (
	goldenFlag = flag.Int("golden", 3, "how many of the 1,000 golden worlds are run")
	updateFlag = flag.Bool("update", false, "write the golden worlds anew")
)

const (
	goldenSeeds = 1000
	goldenTicks = 10_000
)

// T49: 1,000 seeds of 10,000 ticks: their hashes are those of the file, which was written on amd64.
// They change when the rules of the world do, and with nothing else: not with the processor, the
// compiler, the day, or what else runs. Those of aims.txt are of a game that asks for the past. With PARLEY_PR all of them are run; arm64 runs some in the
// gate, by -golden.
func TestGoldenSeeds(t *testing.T) {
	notRaced(t)
	count := *goldenFlag
	switch {
	case os.Getenv("PARLEY_PR") != "" || os.Getenv("PARLEY_SOAK") != "" || *updateFlag:
		count = goldenSeeds
	case testing.Short():
		count = 1
	}
	for file, play := range map[string]func(t testing.TB, seed uint64, ticks, crowd, late int) uint64{"worlds.txt": wander, "aims.txt": aimAbout} {
		t.Run(file, func(t *testing.T) { testGolden(t, filepath.Join("testdata", file), count, play) })
	}
}

func testGolden(t *testing.T, path string, count int, play func(t testing.TB, seed uint64, ticks, crowd, late int) uint64) {
	promise.Keeps(t, "T49", "world", count)
	want := readGolden(t, path)
	got := make([]uint64, count)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < count; i = next.Add(1) - 1 {
				got[i] = play(t, uint64(i+1), goldenTicks, 2, 100)
				if !*updateFlag && got[i] != want[i] {
					t.Errorf("seed %d: %#x, want %#x", i+1, got[i], want[i])
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d worlds of %d ticks on %s", count, goldenTicks, runtime.GOARCH)
	if *updateFlag {
		writeGolden(t, path, got)
	}
}

func readGolden(t *testing.T, path string) (list [goldenSeeds]uint64) {
	f, err := os.Open(path)
	if err != nil {
		if !*updateFlag {
			t.Fatal(err)
		}
		return list
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for i := 0; lines.Scan(); i++ {
		if _, err := fmt.Sscanf(lines.Text(), "%016x", &list[i]); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
	}
	return list
}

func writeGolden(t *testing.T, path string, list []uint64) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for _, h := range list {
		fmt.Fprintf(w, "%016x\n", h)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()
}
