package shelltest

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Counts are the resources that must not grow while connections come and go (T58).
type Counts struct {
	Goroutines  int
	Descriptors int // 0 if the system does not say
	Heap        int64
}

// poller makes the runtime open its two descriptors for sockets now. It opens them with the first socket or pipe of a
// process, and the test that does so would be blamed for them.
var poller = sync.OnceFunc(func() {
	if r, w, err := os.Pipe(); err == nil {
		r.Close()
		w.Close()
	}
})

// Census returns the counts. A goroutine that has signalled its end may not have exited yet. So while there are more than
// most goroutines, Census yields to them for a while. If most is not 0, it does so for up to 10 s, as a busy machine may
// delay the thread of such a goroutine.
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

// InUse returns the bytes of the pages of heap and stacks.
func InUse() int {
	m := live()
	return int(m.HeapInuse + m.StackInuse)
}

// Resident returns the memory that this process holds or, where the system does not tell, what its runtime has asked for.
func Resident() int {
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.Atoi(fields[1])
			return pages * os.Getpagesize()
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.Sys)
}

// LiveObjects returns how many objects of the heap are in use.
func LiveObjects() int64 { return int64(live().HeapObjects) }

func live() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC() // the second frees what pools hold
	runtime.ReadMemStats(&m)
	return m
}

// Grown returns an error if there are more goroutines or descriptors than before. The heap is not compared.
func (c Counts) Grown(before Counts) error {
	if c.Goroutines > before.Goroutines || c.Descriptors > before.Descriptors {
		return fmt.Errorf("left behind: before %+v, after %+v", before, c)
	}
	return nil
}
