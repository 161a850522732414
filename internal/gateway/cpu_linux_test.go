package gateway

import (
	"syscall"
	"time"
)

// threadTime is the CPU time of the calling thread: what it takes on a machine that has others to
// serve too. The caller has locked its thread.
func threadTime() time.Duration {
	const thisThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if syscall.Getrusage(thisThread, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
