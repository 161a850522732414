package shelltest

import (
	"math/rand/v2"
	"sync"
	"syscall"

	"parley/internal/udp"
)

// sendFaults are the errors of T61, and recvFaults those among them that can occur on
// receiving.
var (
	sendFaults = []syscall.Errno{syscall.ECONNREFUSED, syscall.ENOBUFS, syscall.EMSGSIZE, syscall.EAGAIN, syscall.EPERM}
	recvFaults = []syscall.Errno{syscall.ECONNREFUSED, syscall.ENOBUFS, syscall.EPERM}
)

// Faulty returns the config of a socket whose system calls fail: with each error in a
// hundredth of all calls (T61).
func Faulty(c udp.Config, seed uint64) udp.Config {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 61))
	c.Faults = func(sending bool) syscall.Errno {
		mu.Lock()
		defer mu.Unlock()
		faults := recvFaults
		if sending {
			faults = sendFaults
		}
		if i := r.IntN(100); i < len(faults) {
			return faults[i]
		}
		return 0
	}
	return c
}
