package shelltest

import (
	"sync"
	"time"

	"parley/internal/patient"
)

// Repeat calls f again and again until stop is called, which waits for the last call. In a
// synctest bubble the time between two calls is virtual.
func Repeat(every time.Duration, f func()) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(every):
				f()
			}
		}
	})
	return func() {
		close(done)
		patient.Done(wg.Wait)
	}
}
