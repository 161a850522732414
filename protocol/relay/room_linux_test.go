package relay

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley/internal/shell/shelltest"
)

// BenchmarkRoomOf32 is the bar of the server: a room of 32, each of whom sends 30 packages of 100
// bytes a second to all others, 29,760 datagrams a second out. CPU time is that of the whole
// process, the collector's included, and is held against a process with a bare loop of recvmmsg
// and sendmmsg that gets and sends as many datagrams of the same sizes in the same milliseconds;
// latency is from one participant to the next. Run it with -benchtime 5x: a round takes two
// seconds.
func BenchmarkRoomOf32(b *testing.B) {
	for _, mode := range []Mode{Unreliable, Unordered, SemiOrdered} {
		b.Run(mode.String(), func(b *testing.B) { benchRoom(b, mode) })
	}
}

// roundOf32 is what one round of both crowds said.
type roundOf32 struct{ sent, got, median, p99 int64 }

func benchRoom(b *testing.B, mode Mode) {
	s, err := Listen("127.0.0.1:0", Config{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	bare, crowds := shelltest.StartHelper(b, loadVariable, "bare"), shelltest.StartHelper(b, loadVariable, "crowd")
	var addr, done string
	bare.Ask(b, fmt.Sprint("listen ", uint8(mode)), &addr)
	crowds.Ask(b, fmt.Sprint("join ", s.Addr(), " ", uint8(mode)), &done)
	crowds.Ask(b, fmt.Sprint("bare ", addr, " ", uint8(mode)), &done)
	round := func(seconds int) (x, y roundOf32) {
		crowds.Ask(b, fmt.Sprint("run ", seconds), &x.sent, &x.got, &x.median, &x.p99, &y.sent, &y.got, &y.median, &y.p99)
		return x, y
	}
	round(1) // so that round trips are known and pools are filled

	var ratios, ours, floors, medians, p99s, bareMedians, bareP99s, calls, turns, timeouts []float64
	lost, sent := int64(0), int64(0)
	for b.Loop() {
		a, z := burdenOf(s), bareBurden(b, bare)
		before := s.Stats()
		x, y := round(2)
		after := s.Stats()
		cost, floor := burdenOf(s).Since(a), bareBurden(b, bare).Since(z)
		ours, floors, ratios = append(ours, cost), append(floors, floor), append(ratios, cost/floor)
		medians, p99s = append(medians, float64(x.median)/1000), append(p99s, float64(x.p99)/1000)
		bareMedians, bareP99s = append(bareMedians, float64(y.median)/1000), append(bareP99s, float64(y.p99)/1000)
		sent += x.sent * (crowdSize - 1)
		lost += x.sent*(crowdSize-1) - x.got
		turns = append(turns, float64(after.Loop.Turns-before.Loop.Turns)/float64(after.Relayed-before.Relayed))
		timeouts = append(timeouts, float64(after.Loop.Timeouts-before.Loop.Timeouts)/float64(after.Relayed-before.Relayed))
		calls = append(calls, float64(after.Socket.OutBatches-before.Socket.OutBatches)/float64(after.Relayed-before.Relayed))
	}
	b.ReportMetric(shelltest.Median(ours), "cpu-ns/datagram")
	b.ReportMetric(shelltest.Median(floors), "floor-ns/datagram")
	b.ReportMetric(shelltest.Median(ratios), "x-floor")
	b.ReportMetric(shelltest.Median(medians), "µs-median")
	b.ReportMetric(shelltest.Median(bareMedians), "µs-floor-median")
	b.ReportMetric(shelltest.Median(p99s), "µs-p99")
	b.ReportMetric(shelltest.Median(bareP99s), "µs-floor-p99")
	b.ReportMetric(shelltest.Median(calls), "calls/package")
	b.ReportMetric(shelltest.Median(turns), "turns/package")
	b.ReportMetric(shelltest.Median(timeouts), "timeouts/package")
	b.ReportMetric(float64(lost), "lost")
	b.ReportMetric(0, "ns/op") // of all together: means nothing
	if st := s.Stats(); st.Peers != crowdSize || mode.Reliable() && lost != 0 || st.Socket.OutLost > 0 {
		b.Errorf("%d of %d are lost; the server counts %+v", lost, sent, st)
	}
}

func burdenOf(s *Server) shelltest.Burden {
	st := s.Stats().Socket
	return shelltest.Burden{CPU: shelltest.ProcessCPU(), Datagrams: st.InDatagrams + st.OutDatagrams}
}

func bareBurden(tb testing.TB, h *shelltest.Helper) (x shelltest.Burden) {
	h.Ask(tb, "burden", &x.CPU, &x.Datagrams)
	return x
}

// bareMain obeys lines of standard input:
//
//	listen MODE     answers the address
//	burden          answers CPU time in ns and datagrams so far
func bareMain() {
	var f *bareLoop
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch words := strings.Fields(lines.Text()); words[0] {
		case "listen":
			f = newBareLoop(words[1] != "0")
			go f.serve()
			fmt.Println(f.addr)
		case "burden":
			fmt.Println(shelltest.ProcessCPU().Nanoseconds(), f.count.Load())
		}
	}
}

// bareLoop is the least that a Go program can do to pass datagrams on in batches: recvmmsg and
// sendmmsg over the runtime's poller, without control messages, and with the bytes as they came.
// It knows whom it has heard of. Each datagram of a package's size goes to all others; in a
// reliable mode its sender is sent as much as a confirmation is.
type bareLoop struct {
	file     *os.File
	raw      syscall.RawConn
	addr     netip.AddrPort
	confirms bool
	known    []unix.RawSockaddrInet4
	in, out  bareVectors
	answer   [16]byte
	count    atomic.Uint64
}

// bareVectors are the messages of one system call.
type bareVectors struct {
	msgs  []unix.Mmsghdr
	iovs  []unix.Iovec
	names []unix.RawSockaddrInet4
}

const bareBatch = 64

func newBareVectors(n int) bareVectors {
	v := bareVectors{make([]unix.Mmsghdr, n), make([]unix.Iovec, n), make([]unix.RawSockaddrInet4, n)}
	for i := range v.msgs {
		h := &v.msgs[i].Hdr
		h.Iov = &v.iovs[i]
		h.SetIovlen(1)
		h.Name = (*byte)(unsafe.Pointer(&v.names[i]))
		h.Namelen = unix.SizeofSockaddrInet4
	}
	return v
}

func newBareLoop(confirms bool) *bareLoop {
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
	received := make([]byte, bareBatch*1024)
	f := &bareLoop{
		file: os.NewFile(uintptr(fd), "bare"), confirms: confirms,
		addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port)),
		in:   newBareVectors(bareBatch), out: newBareVectors(bareBatch * crowdSize),
	}
	for i := range f.in.iovs {
		f.in.iovs[i].Base = &received[i*1024]
		f.in.iovs[i].SetLen(1024)
	}
	f.raw, _ = f.file.SyscallConn()
	return f
}

// serve passes on until the file is closed. What one Read brings is passed on inside it, which
// saves a turn of the poller.
func (f *bareLoop) serve() {
	_ = f.raw.Read(func(fd uintptr) bool {
		for {
			n, _, errno := syscall.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&f.in.msgs[0])), bareBatch, 0, 0, 0)
			if errno != 0 {
				return errno != unix.EAGAIN
			}
			f.pass(fd, int(n))
		}
	})
}

func (f *bareLoop) pass(fd uintptr, n int) {
	out := 0
	add := func(name *unix.RawSockaddrInet4, base *byte, size int) {
		f.out.names[out] = *name
		f.out.iovs[out].Base = base
		f.out.iovs[out].SetLen(size)
		out++
	}
	for i := range n {
		from, size := &f.in.names[i], int(f.in.msgs[i].Len)
		if size == HeaderBytes && len(f.known) < crowdSize {
			f.known = append(f.known, *from)
		}
		if size != HeaderBytes+crowdPayload {
			continue
		}
		for k := range f.known {
			if f.known[k].Port != from.Port {
				add(&f.known[k], f.in.iovs[i].Base, size)
			} else if f.confirms {
				add(from, &f.answer[0], HeaderBytes+3)
			}
		}
	}
	for done := 0; done < out; {
		k, _, errno := syscall.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&f.out.msgs[done])), uintptr(out-done), 0, 0, 0)
		if errno != 0 {
			panic(errno)
		}
		done += int(k)
	}
	f.count.Add(uint64(n + out))
}
