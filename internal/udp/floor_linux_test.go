package udp

import (
	"net/netip"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley/internal/datagram"
)

// This file is the floor: the least that a Go program can do to echo datagrams
// in batches, and the means to hold our code against it in the same run. It
// uses nothing of the package but its socket options.

// floor is a bare recvmmsg and sendmmsg echo over the runtime's poller. It
// reads no control messages, looks at no address and copies no payload: the
// very vectors that were received are sent.
type floor struct {
	file       *os.File
	raw        syscall.RawConn
	addr       netip.AddrPort
	msgs       []unix.Mmsghdr
	iovs       []unix.Iovec
	names      []sockaddr
	buffers    []byte
	size       int
	want, have int
	onReadable func(fd uintptr) bool
	onServe    func(fd uintptr) bool
	onWritable func(fd uintptr) bool
	onDrain    func(fd uintptr) bool
	n          int
}

func newFloor(tb testing.TB, batch, size int) *floor {
	tb.Helper()
	e := endpoints{local: netip.MustParseAddrPort("127.0.0.1:0")}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	askBuffer(fd, unix.SO_RCVBUF, unix.SO_RCVBUFFORCE, defaultBufferBytes)
	askBuffer(fd, unix.SO_SNDBUF, unix.SO_SNDBUFFORCE, defaultBufferBytes)
	if err := nameSocket(unix.SYS_BIND, fd, family4, e.local); err != nil {
		tb.Fatal(err)
	}
	f := &floor{
		file:    os.NewFile(uintptr(fd), "floor"),
		msgs:    make([]unix.Mmsghdr, batch),
		iovs:    make([]unix.Iovec, batch),
		names:   make([]sockaddr, batch),
		buffers: make([]byte, batch*size),
		size:    size,
	}
	f.raw, _ = f.file.SyscallConn()
	f.addr, _ = localAddr(fd)
	f.onReadable, f.onServe, f.onWritable, f.onDrain = f.readable, f.serveOne, f.writable, f.drainable
	for i := range f.msgs {
		f.iovs[i].Base = &f.buffers[i*size]
		h := &f.msgs[i].Hdr
		h.Iov = &f.iovs[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&f.names[i]))
		f.rearm(i)
	}
	tb.Cleanup(func() { f.file.Close() })
	return f
}

func (f *floor) rearm(i int) {
	f.iovs[i].SetLen(f.size)
	f.msgs[i].Hdr.Namelen = unix.SizeofSockaddrInet4
}

func (f *floor) receive(fd uintptr) (int, syscall.Errno) {
	n, _, errno := syscall.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&f.msgs[0])), uintptr(len(f.msgs)), 0, 0, 0)
	return int(n), errno
}

// answer sends the first n vectors back.
func (f *floor) answer(fd uintptr, n int) {
	for i := range f.msgs[:n] {
		f.iovs[i].SetLen(int(f.msgs[i].Len))
	}
	for done := 0; done < n; {
		k, _, errno := syscall.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&f.msgs[done])), uintptr(n-done), 0, 0, 0)
		if errno != 0 {
			panic(errno)
		}
		done += int(k)
	}
	for i := range f.msgs[:n] {
		f.rearm(i)
	}
}

// echo answers exactly n datagrams, which are there already.
func (f *floor) echo(n int) {
	f.want, f.have = n, 0
	if err := f.raw.Read(f.onReadable); err != nil {
		panic(err)
	}
}

func (f *floor) readable(fd uintptr) bool {
	for f.have < f.want {
		n, errno := f.receive(fd)
		if errno != 0 {
			return false
		}
		f.answer(fd, n)
		f.have += n
	}
	return true
}

// drain receives exactly n datagrams, which are there already, and no more.
func (f *floor) drain(n int) {
	f.want, f.have = n, 0
	if err := f.raw.Read(f.onDrain); err != nil {
		panic(err)
	}
}

func (f *floor) drainable(fd uintptr) bool {
	for f.have < f.want {
		n, errno := f.receive(fd)
		if errno != 0 {
			return false
		}
		f.have += n
		for i := range f.msgs[:n] {
			f.rearm(i)
		}
	}
	return true
}

// send sends as many datagrams of size bytes as the batch has to an address.
func (f *floor) send(to netip.AddrPort, size int) {
	for i := range f.msgs {
		f.msgs[i].Len = uint32(size)
		f.msgs[i].Hdr.Namelen = f.names[i].encode(family4, to)
	}
	f.n = len(f.msgs)
	if err := f.raw.Write(f.onWritable); err != nil {
		panic(err)
	}
}

// serve echoes until the descriptor is closed: what one writes first. Each
// batch is a Read and a Write of the RawConn.
func (f *floor) serve() {
	for f.raw.Read(f.onServe) == nil {
		if f.raw.Write(f.onWritable) != nil {
			return
		}
	}
}

func (f *floor) serveOne(fd uintptr) bool {
	n, errno := f.receive(fd)
	f.n = n
	return errno != unix.EAGAIN
}

func (f *floor) writable(fd uintptr) bool {
	f.answer(fd, f.n)
	return true
}

// echoer is what a benchmark compares: something at an address that answers n
// datagrams that are there already.
type echoer interface{ echo(n int) }

// echoLoop is our Loop as an echoer, without its goroutine: the turns are those
// of a Loop, the reads those of its socket, and only the parking is left out.
type echoLoop struct {
	socket     *Socket
	in         *RecvBatch
	turn       datagram.Turn
	want, have int
	onTurn     datagram.Turn
}

func newEchoLoop(tb testing.TB, s *Socket, core datagram.Core) *echoLoop {
	tb.Helper()
	e := &echoLoop{socket: s, in: s.NewRecvBatch()}
	e.onTurn = e.echoTurn
	datagram.NewLoop(captive{s, func(turn datagram.Turn) { e.turn = turn }}, core, datagram.LoopConfig{}).Run()
	tb.Cleanup(func() { s.Close() })
	return e
}

func (e *echoLoop) echo(n int) {
	e.want, e.have = n, 0
	if err := e.socket.driver.serve(e.in, e.onTurn); err != nil {
		panic(err)
	}
}

func (e *echoLoop) echoTurn(in *datagram.RecvBatch, woken bool) (datagram.Next, time.Time) {
	e.have += in.Len()
	e.turn(in, woken)
	if e.have >= e.want {
		return datagram.Stop, time.Time{}
	}
	return datagram.Again, time.Time{}
}

// echoCore answers each datagram with its own bytes. It is a Core as small as
// one can be: a ring of buffers, a power of two of them.
type echoCore struct {
	ring       [][]byte
	to         []netip.AddrPort
	head, tail int
}

func newEchoCore(slots, size int) *echoCore {
	c := &echoCore{ring: make([][]byte, slots), to: make([]netip.AddrPort, slots)}
	for i := range c.ring {
		c.ring[i] = make([]byte, 0, size)
	}
	return c
}

func (c *echoCore) HandleDatagram(_ time.Time, from netip.AddrPort, b []byte) {
	i := c.tail & (len(c.ring) - 1)
	c.ring[i] = append(c.ring[i][:0], b...)
	c.to[i] = from
	c.tail++
}

func (c *echoCore) HandleTimeout(time.Time) {}

func (c *echoCore) NextTimeout() (time.Time, bool) { return time.Time{}, false }

func (c *echoCore) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if c.head == c.tail {
		return 0, netip.AddrPort{}, false
	}
	i := c.head & (len(c.ring) - 1)
	c.head++
	return copy(buf, c.ring[i]), c.to[i], true
}

// crowd is many client sockets, so that each datagram has an address of its own.
type crowd struct {
	fds []int
	buf []byte
	to  unix.SockaddrInet4
	got [2048]byte

	late [1]unix.PollFd
}

func newCrowd(tb testing.TB, n, size int) *crowd {
	tb.Helper()
	c := &crowd{buf: make([]byte, size)}
	for range n {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			tb.Fatal(err)
		}
		if err := nameSocket(unix.SYS_BIND, fd, family4, netip.MustParseAddrPort("127.0.0.1:0")); err != nil {
			tb.Fatal(err)
		}
		c.fds = append(c.fds, fd)
	}
	tb.Cleanup(func() {
		for _, fd := range c.fds {
			unix.Close(fd)
		}
	})
	return c
}

// send sends n datagrams to an address, each from the next socket.
func (c *crowd) send(tb testing.TB, to netip.AddrPort, n int) {
	c.to.Port, c.to.Addr = int(to.Port()), to.Addr().As4()
	for i := range n {
		if err := unix.Sendto(c.fds[i%len(c.fds)], c.buf, 0, &c.to); err != nil {
			tb.Fatal(err)
		}
	}
}

// drain takes the n answers, which loopback has delivered when it is called; a busy system may be late.
func (c *crowd) drain(tb testing.TB, n int) {
	for i := range n {
		fd := c.fds[i%len(c.fds)]
		_, err := unix.Read(fd, c.got[:])
		for late := 0; err == unix.EAGAIN && late < 30_000; late++ {
			c.late[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
			_, _ = unix.Poll(c.late[:], 1)
			_, err = unix.Read(fd, c.got[:])
		}
		if err != nil {
			tb.Fatalf("answer %d of %d: %v", i, n, err)
		}
	}
}

// threadCPU returns the CPU time of this thread, of which other processes on a
// busy machine take nothing away.
func threadCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic(err)
	}
	return time.Duration(ts.Nano())
}

// contest measures two ways to do the same in alternating rounds, each of which
// does n datagrams, and reports the CPU time a datagram of both and their ratio.
// prepare and clean are outside the measurement.
type contest struct {
	n              int
	ours, theirs   func()
	prepare, clean func(ours bool)
}

func (c *contest) run(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ours, theirs := make([]time.Duration, 0, 1<<16), make([]time.Duration, 0, 1<<16)
	round := func(mine bool) {
		c.prepare(mine)
		start := threadCPU()
		if mine {
			c.ours()
			ours = append(ours, threadCPU()-start)
		} else {
			c.theirs()
			theirs = append(theirs, threadCPU()-start)
		}
		c.clean(mine)
	}
	flip := false
	for b.Loop() {
		round(flip)
		round(!flip)
		flip = !flip
	}
	a, z := median(ours), median(theirs)
	b.ReportMetric(float64(a)/float64(c.n), "cpu-ns/datagram")
	b.ReportMetric(float64(z)/float64(c.n), "floor-ns/datagram")
	b.ReportMetric(float64(a)/float64(z), "x-floor")
	b.ReportMetric(0, "ns/op") // of both together: means nothing
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}
