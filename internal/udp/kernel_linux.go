package udp

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel is the seam at which tests put faults between us and the system. Each
// call returns how many messages it moved, at least one, or an error.
type kernel interface {
	recvmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno)
	sendmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno)
}

// linuxKernel is the real one.
type linuxKernel struct{}

func (linuxKernel) recvmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno) {
	n, _, errno := syscall.Syscall6(unix.SYS_RECVMMSG, fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(len(msgs)), 0, 0, 0)
	return int(n), errno
}

func (linuxKernel) sendmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno) {
	n, _, errno := syscall.Syscall6(unix.SYS_SENDMMSG, fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(len(msgs)), 0, 0, 0)
	return int(n), errno
}
