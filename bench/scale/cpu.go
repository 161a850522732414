package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the CPU time of the calling thread, which its caller has locked.
func threadTime() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

// processTime is the CPU time of this process: user and system, as getrusage has it, and finer.
func processTime() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(id, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// timed returns what n rounds of work take, of the thread. prepare comes before each and does not count.
func timed(n int, prepare, work func()) float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var sum time.Duration
	for range n {
		if prepare != nil {
			prepare()
		}
		began := threadTime()
		work()
		sum += threadTime() - began
	}
	return float64(sum) / float64(n)
}

// resident is the memory that the system counts for this process.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// thisMachine says where a run took place, and how busy it was.
func thisMachine() (machine, load string) {
	machine = fmt.Sprintf("%d cores, %s, %s", runtime.NumCPU(), runtime.GOOS, runtime.Version())
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				machine = strings.Trim(name, "\t :\n") + ", " + machine
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if f := strings.Fields(string(text)); len(f) >= 3 {
			load = strings.Join(f[:3], " ")
		}
	}
	return machine, load
}
