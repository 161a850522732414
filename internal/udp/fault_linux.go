package udp

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// drawnKernel is the real kernel with the faults of Config.Faults.
type drawnKernel struct {
	linuxKernel
	draw func(sending bool) syscall.Errno
	due  syscall.Errno // owned by the writer: the error of the next message
}

// kernelOf returns the kernel, with Config.Faults if there are any.
func kernelOf(c Config) kernel {
	if c.Faults == nil {
		return linuxKernel{}
	}
	return &drawnKernel{draw: c.Faults}
}

func (k *drawnKernel) recvmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno) {
	if errno := k.draw(false); errno != 0 {
		return -1, errno
	}
	return k.linuxKernel.recvmmsg(fd, msgs)
}

// sendmmsg fails at any message of the call: as with the real kernel, the messages before
// it go out, and the next call begins with it.
func (k *drawnKernel) sendmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno) {
	pass := 0
	for pass < len(msgs) && k.due == 0 {
		if k.due = k.draw(true); k.due == 0 {
			pass++
		}
	}
	if pass > 0 {
		return k.linuxKernel.sendmmsg(fd, msgs[:pass])
	}
	errno := k.due
	k.due = 0
	return -1, errno
}
