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

// linuxKernel is the real one. Our descriptors do not block, so the calls do not pass through
// the scheduler, as others must: to tell it costs little, but then it keeps its watchman
// awake, and takes the processor away in the middle of a long call and has to find
// one after it: 15% of a busy server. The price is that a stop of the world waits for the call: 64 datagrams, or
// 256 in trains (maxCallDatagrams), a tenth of a millisecond. To read 64 trains of 64 KB, which only a
// bulk transfer leaves behind for one that was held up, takes eight times that.
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
