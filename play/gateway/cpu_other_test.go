//go:build !linux

package gateway

import "time"

var threadBegan = time.Now()

// threadTime is the time, where the system does not tell what of it a thread had.
func threadTime() time.Duration { return time.Since(threadBegan) }

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
