package gateway

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the CPU time of the calling thread: what it takes on a machine that has others to
// serve too. The caller has locked its thread. (What getrusage tells is up to 4 ms old, which is more
// than a tick takes.)
func threadTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// cpuTime is the CPU time of the process.
func cpuTime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
