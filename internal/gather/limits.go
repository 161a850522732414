package gather

import "time"

const (
	// Default is how long a reader that is woken often waits for more. With the kernel's timer slack of 50 µs that is 0.3 ms.
	Default = 250 * time.Microsecond

	// A reader is woken often if less than below passes between two wakes. A wait is worth it if it brings worth arrivals, but not in trains of
	// train. At enough arrivals there is no need to wait. At most MaxSkip wakes pass between two useless waits. After maxRow waits in a row, 2.5 ms,
	// the reader sleeps in the poller once, which gives its P back to the scheduler.
	below   = 2 * time.Millisecond
	worth   = 4
	train   = 8
	enough  = 64
	MaxSkip = 255
	maxRow  = 8
)
