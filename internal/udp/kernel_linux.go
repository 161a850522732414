package udp

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernel is the interface to the system calls, at which tests inject faults. Each
// call returns how many messages it moved, at least one, or an error.
type kernel interface {
	recvmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno)
	sendmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno)
}

// linuxKernel is the real kernel. Our descriptors do not block, so the calls are raw: they do
// not notify Go's scheduler. Notifying it keeps sysmon awake, and sysmon takes the P away
// during a long call, so that the goroutine has to find another P after it. On a busy server
// that costs more than the notification itself. The price is that a stop of the world waits for
// the call. A call moves 64 datagrams, or 256 in trains (maxCallDatagrams), in about 0.1 ms. A
// read of 64 trains of 64 KB takes eight times as long, but only a bulk transfer to a stalled
// reader leaves so much behind.
type linuxKernel struct{}

func (linuxKernel) recvmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_RECVMMSG, fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(len(msgs)), 0, 0, 0)
	return int(n), errno
}

func (linuxKernel) sendmmsg(fd uintptr, msgs []unix.Mmsghdr) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_SENDMMSG, fd,
		uintptr(unsafe.Pointer(unsafe.SliceData(msgs))), uintptr(len(msgs)), 0, 0, 0)
	return int(n), errno
}
