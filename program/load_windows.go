package program

import (
	"syscall"
	"time"
)

// processTime is how long this process has used processors.
func processTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var began, ended, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(self, &began, &ended, &kernel, &user) != nil {
		return 0
	}
	const tick = 100 * time.Nanosecond // of a Filetime, which counts from a date: a span of it has none
	ticks := func(t syscall.Filetime) time.Duration {
		return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * tick
	}
	return ticks(kernel) + ticks(user)
}
