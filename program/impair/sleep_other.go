//go:build !linux

package impair

import "time"

// sleep waits for a short time, as well as the runtime's timers can.
func sleep(d time.Duration) { time.Sleep(d) }
