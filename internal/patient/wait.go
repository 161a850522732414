package patient

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

const (
	// step is how often a long wait looks whether it is over.
	step = 5 * time.Second

	// idleLimit is for how long a wait goes on while the machine has nothing to do. What is waited for takes work, and then a machine
	// that works for others is given more time, or it never comes. Pauses that tests make by the clock are shorter than a minute.
	idleLimit = 5 * time.Minute

	// idleCores is how many processors are busy at most when the machine has nothing to do.
	idleCores = .25
)

// wait is a wait of a test for something that has not come yet.
type wait struct {
	last       time.Time
	took, idle time.Duration
	busy       time.Duration // of all processors since the machine was started; 0 if it is not known
}

// over takes the time since the last call, and reports whether the wait has taken too long.
func (w *wait) over(now time.Time) bool { return w.count(now, busyTime()) }

func (w *wait) count(now time.Time, busy time.Duration) bool {
	span := now.Sub(w.last)
	if w.busy > 0 && busy > w.busy && (busy-w.busy).Seconds() < idleCores*span.Seconds() {
		w.idle += span
	}
	w.took, w.last, w.busy = w.took+span, now, busy
	return w.took >= limit || w.idle >= idleLimit && os.Getenv("PARLEY_SOAK") == ""
}

// busyTime returns how long all processors of the machine together have worked since it was started, 0 where the system does not tell.
func busyTime() (busy time.Duration) {
	stat, err := os.ReadFile("/proc/stat")
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(line) // cpu user nice system idle iowait irq softirq steal, in hundredths of a second
	if err != nil || len(fields) < 9 {
		return 0
	}
	for i, f := range fields[1:9] {
		n, err := strconv.ParseInt(string(f), 10, 64)
		if err != nil {
			return 0
		}
		if i != 3 { // a wait for the disk is work
			busy += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return busy
}

// Timer is the time limit of a wait.
type Timer struct {
	mu      sync.Mutex
	timer   *time.Timer
	wait    wait
	stopped bool
}

// End returns a timer that ends the program after the limit, unless it is stopped, and prints what each goroutine waits
// for. A function that waits for several things, or for bytes, defers End().Stop(). The test is not failed instead, as
// its cleanup may wait for the same thing.
func End() *Timer {
	t := &Timer{wait: wait{last: time.Now()}}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = time.AfterFunc(min(step, limit), t.look)
	return t
}

// Stop ends the limit: what was waited for has come.
func (t *Timer) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.timer.Stop()
}

func (t *Timer) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	if t.wait.over(time.Now()) {
		debug.SetTraceback("all")
		panic("patient: what a test waits for has not come")
	}
	t.timer.Reset(min(step, limit))
}
