package patient

import (
	"sync/atomic"
	"testing"
	"time"
)

// turn is the interval at which Pace and Stood read the clock.
const turn = 5 * time.Millisecond

// Pace starts a clock for promises that are made in seconds, and returns the function that reads it. It runs like a wall
// clock, but leaves out time in which the machine runs something else: each wait of turn counts as at most twice turn.
func Pace(t testing.TB) func() time.Duration {
	var told atomic.Int64
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	go func() {
		clock := time.NewTicker(turn)
		defer clock.Stop()
		for last := time.Now(); ; {
			select {
			case <-stop:
				return
			case <-clock.C:
			}
			now := time.Now()
			told.Add(int64(fair(now.Sub(last))))
			last = now
		}
	}()
	return func() time.Duration { return time.Duration(told.Load()) }
}

// Stood starts to watch for pauses in which the machine does not run this process, and returns the function that returns
// the longest. After a pause of seconds, a peer that waits for an answer in wall time has given up, and no program can
// prevent that.
func Stood(t testing.TB) func() time.Duration {
	var longest atomic.Int64
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	go func() {
		clock := time.NewTicker(turn)
		defer clock.Stop()
		for last := time.Now(); ; last = time.Now() {
			select {
			case <-stop:
				return
			case <-clock.C:
			}
			if took := int64(time.Since(last)); took > longest.Load() {
				longest.Store(took)
			}
		}
	}()
	return func() time.Duration { return time.Duration(longest.Load()) }
}

// fair returns how much of a wait of turn counts, given how long it took.
func fair(took time.Duration) time.Duration { return min(took, 2*turn) }
