package gather

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Pause sleeps outside the poller, which would wake the reader for each arrival. The runtime's
// own timers are too coarse: in a sleeping process they are rounded up to a millisecond. A
// goroutine that wakes the reader meanwhile waits for it. If a signal ends the sleep early, the
// reader reads early.
//
// The sleep is a raw system call, which does not notify the scheduler. Notifying it wakes
// sysmon, which then looks at the sleeper each 20 µs for a millisecond. The price is that a P
// sleeps too, so the last P never sleeps in this way. A stop of the world ends the sleep with
// a signal.
func Pause(span time.Duration) {
	t := unix.NsecToTimespec(span.Nanoseconds())
	if sleepers.Add(1) < int32(runtime.GOMAXPROCS(0)) {
		_, _, _ = syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
	} else {
		_ = unix.Nanosleep(&t, nil)
	}
	sleepers.Add(-1)
}

// sleepers is how many readers of this process are in Pause.
var sleepers atomic.Int32
