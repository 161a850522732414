package blackbox

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// vdsoClockgettimeSym is where Go's runtime calls the system's clock_gettime.
//
//go:linkname vdsoClockgettimeSym runtime.vdsoClockgettimeSym
var vdsoClockgettimeSym uintptr

// clockCode is clock_gettime(clock, *timespec) that asks the kernel, and adds the seconds at jumpOffset to
// the wall clock, which is clock 0. The monotonic clock is as it is.
var clockCode = []byte{
	0x57,                         // push rdi
	0x56,                         // push rsi
	0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, 228: clock_gettime
	0x0f, 0x05, // syscall
	0x5e,       // pop rsi
	0x5f,       // pop rdi
	0x85, 0xff, // test edi, edi
	0x75, 0x0a, // jnz to ret
	0x48, 0x8b, 0x0d, 0x2a, 0x00, 0x00, 0x00, // mov rcx, [rip+42]: jumpOffset
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3, // ret
}

const jumpOffset = 64

// ownWallClock gives this process a wall clock that jumps when the function is called that it returns: to
// so much before or after the true time. The machine's clock, and other processes, know nothing of it.
// forget brings the true one back.
func ownWallClock() (jump func(to time.Duration), forget func(), ok bool) {
	page, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, false
	}
	was := atomic.LoadUintptr(&vdsoClockgettimeSym)
	copy(page, clockCode)
	atomic.StoreUintptr(&vdsoClockgettimeSym, uintptr(unsafe.Pointer(&page[0])))
	seconds := (*int64)(unsafe.Pointer(&page[jumpOffset]))
	jump = func(to time.Duration) { atomic.StoreInt64(seconds, int64(to/time.Second)) }
	return jump, func() { atomic.StoreUintptr(&vdsoClockgettimeSym, was) }, true
}
