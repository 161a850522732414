package impair

import (
	"time"

	"golang.org/x/sys/unix"
)

// sleep waits for a short time. The timers of the runtime wait in whole
// milliseconds where nothing else is to be done; this waits as exactly as the kernel
// can, and keeps its thread.
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	unix.Nanosleep(&t, nil)
}
