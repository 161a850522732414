package patient

import (
	"sync/atomic"
	"testing"
	"time"
)

// turn is how often the clock of Pace looks.
const turn = 5 * time.Millisecond

// Pace starts a clock for promises that are made in seconds, and returns what reads it. It is the clock of the wall but
// for the time in which the machine runs something else: a wait of turn that took longer counts as at most twice that.
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

// Stood starts a watch for times in which the machine runs nothing of this process, and returns what tells the longest of
// them. After one of seconds whoever waits for an answer in wall time has given up, and no program can help it.
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

// fair is what a wait of turn counts.
func fair(took time.Duration) time.Duration { return min(took, 2*turn) }
