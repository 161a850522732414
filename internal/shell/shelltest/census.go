package shelltest

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

// Counts is what must not grow while connections come and go (T58).
type Counts struct {
	Goroutines  int
	Descriptors int // 0 where the system does not tell
	Heap        int64
}

// poller has the runtime open its two descriptors for sockets, as it does with the first socket or pipe of a process: the
// test with that one would be blamed for them.
var poller = sync.OnceFunc(func() {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
})

// Census counts. A goroutine that was waited for may still have its last instruction to
// do: while there are more than most, it gives them a chance, for a while, and for a long one if most is not 0, as the thread
// that runs it may be one that a busy machine lets wait.
func Census(most int) (c Counts) {
	poller()
	for i, began := 0, time.Now(); runtime.NumGoroutine() > most && (i < 1_000_000 || most > 0 && time.Since(began) < 10*time.Second); i++ {
		runtime.Gosched()
	}
	c.Goroutines = runtime.NumGoroutine()
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		c.Descriptors = len(list)
	}
	c.Heap = LiveHeap()
	return c
}

// LiveHeap returns the bytes of the heap that are in use.
func LiveHeap() int64 { return int64(live().HeapAlloc) }

// LiveObjects returns how many objects of the heap are in use.
func LiveObjects() int64 { return int64(live().HeapObjects) }

func live() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC() // what pools hold is let go by the second
	runtime.ReadMemStats(&m)
	return m
}

// Grown returns what there is more of than before, heap aside, or nil.
func (c Counts) Grown(before Counts) error {
	if c.Goroutines > before.Goroutines || c.Descriptors > before.Descriptors {
		return fmt.Errorf("left behind: before %+v, after %+v", before, c)
	}
	return nil
}
