package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"
)

// costDeeds are what every child of this program can be asked about itself.
var costDeeds = map[string]deed{
	"cpu":     func(json.RawMessage) (any, error) { return cpuNow() },
	"memory":  func(json.RawMessage) (any, error) { return memoryNow(), nil },
	"profile": profile,
}

// cpu is the CPU time that a process has used so far.
type cpu struct {
	User   time.Duration `json:"user"`
	System time.Duration `json:"system"`

	// Switches is how often its threads began to wait, or were made to.
	Switches int64 `json:"switches"`
}

func (c cpu) all() time.Duration { return c.User + c.System }

func (c cpu) since(then cpu) cpu {
	return cpu{c.User - then.User, c.System - then.System, c.Switches - then.Switches}
}

// kernel returns the kernel's share.
func (c cpu) kernel() float64 {
	if c.all() == 0 {
		return 0
	}
	return float64(c.System) / float64(c.all())
}

func cpuNow() (cpu, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return cpu{}, err
	}
	return cpu{time.Duration(r.Utime.Nano()), time.Duration(r.Stime.Nano()), r.Nvcsw + r.Nivcsw}, nil
}

// memory is what a process holds. Resident is what the system has given it and counts for
// every language; Own is what a Go program says that it uses: its live heap and the stacks
// of its goroutines.
type memory struct {
	Resident int64 `json:"resident"`
	Own      int64 `json:"own"`
}

// memoryNow collects garbage and gives what is free back to the system first, so that it is
// asked for outside of what is timed.
func memoryNow() memory {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{Resident: resident(), Own: int64(m.HeapAlloc + m.StackInuse)}
}

// resident reads the resident memory of this process.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int64
	if _, err := fmt.Sscan(strings.TrimSpace(string(text)), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// profiling is the file that a CPU profile is written to, nil if there is none.
var profiling *os.File

// profile begins a CPU profile in the file that it is given, or ends it if that is empty.
func profile(with json.RawMessage) (any, error) {
	name, err := decode[string](with)
	if err != nil {
		return nil, err
	}
	if name == "" {
		if profiling == nil {
			return nil, nil
		}
		pprof.StopCPUProfile()
		return nil, profiling.Close()
	}
	if profiling, err = os.Create(name); err != nil {
		return nil, err
	}
	return nil, pprof.StartCPUProfile(profiling)
}

// cpuOf reads the CPU time of another process, in hundredths of a second.
func cpuOf(pid int) (c cpu, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return c, err
	}
	// The second field is a name in parentheses, which may hold anything.
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return c, fmt.Errorf("/proc/%d/stat is short", pid)
	}
	var user, system int64
	if _, err := fmt.Sscan(f[11]+" "+f[12], &user, &system); err != nil {
		return c, err
	}
	const tick = time.Second / 100 // USER_HZ, the same on every Linux
	return cpu{User: time.Duration(user) * tick, System: time.Duration(system) * tick}, nil
}
