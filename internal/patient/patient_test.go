package patient

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Each kind of wait ends in a process of its own, which dies of it and says where it waited.
func TestAWaitForNothingEnds(t *testing.T) {
	waits := map[string]func(){
		"a condition": func() { Until(t, "TestAWaitForNothingEnds.func", func() bool { return false }) },
		"a value":     func() { Value(make(chan int)) },
		"a group": func() {
			var group sync.WaitGroup
			group.Add(1)
			Done(group.Wait)
		},
		"a test": func() {
			Test(t)
			select {}
		},
	}
	const which = "PATIENT_WAIT"
	if wait := waits[os.Getenv(which)]; wait != nil {
		limit = 10 * time.Millisecond
		wait()
	}
	for name := range waits {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), which+"="+name)
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || !strings.Contains(string(out), "has not come") || !strings.Contains(string(out), "TestAWaitForNothingEnds.func") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

func TestACommandThatDoesNotEndIsKilled(t *testing.T) {
	if os.Getenv("PATIENT_SLEEP") != "" {
		time.Sleep(time.Hour)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "PATIENT_SLEEP=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func(was time.Duration) { limit = was }(limit)
	limit = 10 * time.Millisecond
	if err := Exit(cmd); err == nil {
		t.Error("it ended by itself")
	}
}

// What comes in time is received, and the test goes on.
func TestWhatComesIsReceived(t *testing.T) {
	Test(t)
	c := make(chan int, 1)
	c <- 7
	if got := Value(c); got != 7 {
		t.Errorf("got %d", got)
	}
	Done(func() {})
	Until(t, "it holds", func() bool { return true })
}

// A wait goes on while the machine works, until the limit. Where it has nothing to do, nothing is to be waited for.
func TestAWaitOnAnIdleMachineEndsSooner(t *testing.T) {
	defer func(was time.Duration) { limit = was }(limit)
	limit = 20 * time.Minute
	for _, tt := range []struct {
		name  string
		cores float64 // that are busy
		known bool
		want  time.Duration
	}{
		{"a machine that works", 1, true, limit},
		{"one that works a little", .3, true, limit},
		{"one that has nothing to do", .1, true, idleLimit},
		{"one that does not tell", 0, false, limit},
	} {
		now, busy := time.Unix(1, 0), time.Duration(0)
		w, began := wait{last: now}, now
		for over := false; !over; over = w.count(now, busy) {
			now = now.Add(step)
			if tt.known {
				busy += time.Duration(tt.cores * float64(step))
			}
		}
		if took := now.Sub(began); took < tt.want || took > tt.want+2*step {
			t.Errorf("%s: over after %v, want %v", tt.name, took, tt.want)
		}
	}
	if a, err := os.ReadFile("/proc/stat"); err == nil && busyTime() == 0 {
		t.Errorf("what the system tells is not read: %.200s", a)
	}
}

// In a bubble no time is lost, and the clock is the wall's.
func TestPaceIsTheWallsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pace := Pace(t)
		time.Sleep(10*time.Second + turn/2)
		if got := pace(); got != 10*time.Second {
			t.Errorf("after 10 s it says %v", got)
		}
	})
	if got := fair(time.Minute); got != 2*turn {
		t.Errorf("a minute of another program counts as %v", got)
	}
}

// Who looks every turn, and is let, has stood still for no longer.
func TestStoodIsTheLongestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stood := Stood(t)
		time.Sleep(10*time.Second + turn/2)
		if got := stood(); got != turn {
			t.Errorf("it says %v", got)
		}
	})
}
