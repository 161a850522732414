package blackbox

import (
	"os"
	"strconv"
	"syscall"
)

// favourSelf gives all threads of this process priority over others of the machine, and reports whether
// it may. Threads that come later have it from those that make them.
func favourSelf() bool {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil || syscall.Setpriority(syscall.PRIO_PROCESS, id, -15) != nil {
			return false
		}
	}
	return true
}
