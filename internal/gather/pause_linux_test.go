package gather

import (
	"runtime"
	"testing"
	"time"
)

// A reader that waits holds no processor if it is the last one: others run meanwhile.
func TestAWaitLeavesAProcessorToOthers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for span := 50 * time.Millisecond; !othersRan(span); span *= 2 {
		if span > 5*time.Second { // a machine that stands still for a span runs nobody
			t.Fatal("nobody ran while it slept")
		}
	}
}

// othersRan reports whether this goroutine ran while another one waited.
func othersRan(span time.Duration) (met bool) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		Pause(span)
	}()
	for ; ; runtime.Gosched() {
		met = met || sleepers.Load() > 0
		select {
		case <-over:
			return met
		default:
		}
	}
}
