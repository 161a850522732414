package shelltest

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley/internal/datagram"
)

// BareLoop is the baseline that servers are compared with: a Go program that only moves datagrams in
// batches. It uses recvmmsg and sendmmsg over the runtime's poller, without control messages, and does
// not decode addresses. It reads as soon as there is something, and its system calls notify the
// scheduler, as those of golang.org/x/net do. So the comparison shows what a server saves by gathering
// and by raw calls.
type BareLoop struct {
	file    *os.File
	raw     syscall.RawConn
	addr    netip.AddrPort
	answers [][]int // by the size of a datagram: the sizes of its answers
	room    int     // datagrams of this size go on to all other known senders, with their bytes
	in, out bareVectors
	count   atomic.Uint64

	mu    sync.Mutex
	known []unix.RawSockaddrInet4 // the senders of a hello, for push and for a room
	push  bareVectors
}

// bareVectors are the messages of one system call.
type bareVectors struct {
	msgs  []unix.Mmsghdr
	iovs  []unix.Iovec
	names []unix.RawSockaddrInet4
}

const (
	bareBatch = 64
	bareBytes = 2048

	// BareHello is the size of a datagram that makes its sender known to push, or one of a room.
	BareHello = 1
)

func newBareVectors(n int, base func(i int) *byte) bareVectors {
	v := bareVectors{make([]unix.Mmsghdr, n), make([]unix.Iovec, n), make([]unix.RawSockaddrInet4, n)}
	for i := range v.msgs {
		v.iovs[i].Base = base(i)
		h := &v.msgs[i].Hdr
		h.Iov = &v.iovs[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&v.names[i]))
		h.Namelen = unix.SizeofSockaddrInet4
	}
	return v
}

// NewBareLoop opens a loop on the loopback address. A datagram of n bytes is answered by datagrams of
// the sizes answers(n), at most two.
func NewBareLoop(answers func(n int) []int) *BareLoop {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		panic(err)
	}
	for _, option := range []int{unix.SO_RCVBUFFORCE, unix.SO_SNDBUFFORCE, unix.SO_RCVBUF, unix.SO_SNDBUF} {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 4<<20)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		panic(err)
	}
	received, sent := make([]byte, bareBatch*bareBytes), make([]byte, bareBytes)
	f := &BareLoop{
		file: os.NewFile(uintptr(fd), "bare"),
		addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port)),
		in:   newBareVectors(bareBatch, func(i int) *byte { return &received[i*bareBytes] }),
		out:  newBareVectors(2*bareBatch, func(int) *byte { return &sent[0] }),
		push: newBareVectors(bareBatch, func(int) *byte { return &sent[0] }),
	}
	for n := range bareBytes + 1 {
		f.answers = append(f.answers, answers(n))
	}
	for i := range f.in.iovs {
		f.in.iovs[i].SetLen(bareBytes)
	}
	f.raw, _ = f.file.SyscallConn()
	return f
}

// NewBareRoom is NewBareLoop for a room of so many members: each datagram of a size goes on to all other members.
func NewBareRoom(members, size int, answers func(n int) []int) *BareLoop {
	f := NewBareLoop(answers)
	f.room = size
	f.out = newBareVectors(bareBatch*members, func(int) *byte { return nil })
	return f
}

// serve answers until the file is closed. Datagrams are answered inside Read, which saves a turn of
// the poller.
func (f *BareLoop) serve() {
	_ = f.raw.Read(func(fd uintptr) bool {
		for {
			n, _, errno := syscall.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&f.in.msgs[0])), bareBatch, 0, 0, 0)
			if errno != 0 {
				return errno != unix.EAGAIN
			}
			f.answer(fd, int(n))
		}
	})
}

func (f *BareLoop) answer(fd uintptr, n int) {
	out := 0
	add := func(to *unix.RawSockaddrInet4, i, size int) {
		f.out.names[out] = *to
		if f.room > 0 {
			f.out.iovs[out].Base = f.in.iovs[i].Base
		}
		f.out.iovs[out].SetLen(size)
		out++
	}
	for i := range n {
		from, size := &f.in.names[i], int(f.in.msgs[i].Len)
		if size == BareHello {
			f.mu.Lock()
			f.known = append(f.known, *from)
			f.mu.Unlock()
		}
		for _, size := range f.answers[size] {
			add(from, i, size)
		}
		for k := range f.known {
			if size == f.room && f.known[k].Port != from.Port {
				add(&f.known[k], i, size)
			}
		}
	}
	f.out.send(fd, out)
	f.count.Add(uint64(n + out))
}

// pushAll sends a datagram to each sender of a hello.
func (f *BareLoop) pushAll(size int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.raw.Control(func(fd uintptr) {
		for rest := f.known; len(rest) > 0; {
			n := copy(f.push.names, rest)
			rest = rest[n:]
			for i := range n {
				f.push.iovs[i].SetLen(size)
			}
			f.push.send(fd, n)
		}
	})
	f.count.Add(uint64(len(f.known)))
}

func (v *bareVectors) send(fd uintptr, n int) {
	for done := 0; done < n; {
		k, _, errno := syscall.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&v.msgs[done])), uintptr(n-done), 0, 0, 0)
		if errno != 0 {
			panic(errno)
		}
		done += int(k)
	}
}

// Obey is the main loop of a helper process that runs a bare loop. It obeys these lines:
//
//	listen              answers the address
//	push SIZE TICKS MS  sends SIZE bytes to each known sender, TICKS times, every MS
//	                    milliseconds; answers when it begins
//	burden              answers CPU time in ns and datagrams so far
func (f *BareLoop) Obey(lines io.Reader) {
	go f.serve()
	for lines := bufio.NewScanner(lines); lines.Scan(); {
		switch line := lines.Text(); strings.Fields(line)[0] {
		case "listen":
			fmt.Println(f.addr)
		case "push":
			var size, ticks, ms int
			fmt.Sscanf(line, "push %d %d %d", &size, &ticks, &ms)
			go Tick(ticks, time.Duration(ms)*time.Millisecond, func() { f.pushAll(size) })
			fmt.Println("begun")
		case "burden":
			fmt.Println(ProcessCPU().Nanoseconds(), f.count.Load())
		}
	}
}

// Tick calls fn ticks times, once every interval.
func Tick(ticks int, every time.Duration, fn func()) {
	start := time.Now()
	for i := range ticks {
		time.Sleep(time.Until(start.Add(time.Duration(i) * every)))
		fn()
	}
}

// ProcessCPU returns the CPU time of this process.
func ProcessCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BurdenOf returns the burden of this process, whose datagrams a socket counts.
func BurdenOf(st datagram.Stats) Burden {
	return Burden{CPU: ProcessCPU(), Datagrams: st.InDatagrams + st.OutDatagrams}
}
