package relay

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley/internal/shell/shelltest"
	"parley/protocol/relay/core"
)

// BenchmarkRoomOf32 is the bar of the server: a room of 32, each of whom sends 30 packages of 100
// bytes a second to all others, 29,760 datagrams a second out. CPU time is that of the whole
// process, the collector's included, and is held against a process with a bare loop of recvmmsg
// and sendmmsg that gets and sends as many datagrams of the same sizes; latency is from one
// participant to the next. The two take turns of 100 ms. An iteration takes 20 s, ten for each;
// figures are medians of seconds.
func BenchmarkRoomOf32(b *testing.B) {
	for _, mode := range []Mode{Unreliable, Unordered, SemiOrdered} {
		b.Run(mode.String(), func(b *testing.B) { benchRoom(b, mode) })
	}
}

const (
	roomRounds = 10
	roomTurns  = 10 // of either, in a round
)

// roomBench is a server, a bare loop, and a crowd at each.
type roomBench struct {
	tb           testing.TB
	server       *Server
	bare, crowds *shelltest.Helper
	sent, got    int64 // by the crowd of the server, times 31
}

// roomBurden is what one of the two has cost so far.
type roomBurden struct {
	shelltest.Burden
	reads, writes, packages uint64
}

// since returns what it cost since then.
func (x roomBurden) since(then roomBurden) roomBurden {
	x.CPU -= then.CPU
	x.Datagrams -= then.Datagrams
	x.reads -= then.reads
	x.writes -= then.writes
	x.packages -= then.packages
	return x
}

// each returns how many there were for each package that came.
func (x roomBurden) each(n uint64) float64 { return float64(n) / float64(x.packages) }

func newRoomBench(tb testing.TB, mode Mode) *roomBench {
	s, err := Listen("127.0.0.1:0", Config{}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	r := &roomBench{tb: tb, server: s}
	r.bare, r.crowds = shelltest.StartHelper(tb, loadVariable, "bare"), shelltest.StartHelper(tb, loadVariable, "crowd")
	var addr, done string
	r.bare.Ask(tb, fmt.Sprint("listen ", uint8(mode)), &addr)
	r.crowds.Ask(tb, fmt.Sprint("join ", s.Addr(), " ", uint8(mode)), &done)
	r.crowds.Ask(tb, fmt.Sprint("bare ", addr, " ", uint8(mode)), &done)
	return r
}

// burdens returns what the server and the bare loop have cost so far.
func (r *roomBench) burdens() (x, bare roomBurden) {
	r.bare.Ask(r.tb, "burden", &bare.CPU, &bare.Datagrams, &bare.reads, &bare.writes, &bare.packages)
	st := r.server.Stats()
	return roomBurden{
		Burden: shelltest.Burden{CPU: shelltest.ProcessCPU(), Datagrams: st.Socket.InDatagrams + st.Socket.OutDatagrams},
		reads:  st.Loop.Turns, writes: st.Socket.OutBatches, packages: st.Mux.Relayed,
	}, bare
}

// round has both crowds send, and returns what that cost.
func (r *roomBench) round() (x, bare roomBurden) {
	before, bareBefore := r.burdens()
	var sent, got, bareSent, bareGot int64
	r.crowds.Ask(r.tb, fmt.Sprint("run ", roomTurns), &sent, &got, &bareSent, &bareGot)
	r.sent += sent * (crowdSize - 1)
	r.got += got
	x, bare = r.burdens()
	return x.since(before), bare.since(bareBefore)
}

// latencies returns the median and the 99th percentile in µs since it was last asked.
func (r *roomBench) latencies() (median, p99, bareMedian, bareP99 float64) {
	r.crowds.Ask(r.tb, "latency", &median, &p99, &bareMedian, &bareP99)
	return median / 1000, p99 / 1000, bareMedian / 1000, bareP99 / 1000
}

func benchRoom(b *testing.B, mode Mode) {
	r := newRoomBench(b, mode)
	r.round() // so that round trips are known and pools are filled
	r.sent, r.got = 0, 0
	r.latencies()

	var ratios, ours, floors []float64
	start, bareStart := r.burdens()
	for b.Loop() {
		for range roomRounds {
			x, bare := r.round()
			cost, floor := x.Since(shelltest.Burden{}), bare.Since(shelltest.Burden{})
			ours, floors, ratios = append(ours, cost), append(floors, floor), append(ratios, cost/floor)
		}
	}
	x, bare := r.burdens()
	x, bare = x.since(start), bare.since(bareStart)
	median, p99, bareMedian, bareP99 := r.latencies()
	for _, m := range []struct {
		value float64
		unit  string
	}{
		{shelltest.Median(ours), "cpu-ns/datagram"}, {shelltest.Median(floors), "floor-ns/datagram"},
		{shelltest.Median(ratios), "x-floor"}, {slices.Min(ratios), "x-floor-least"}, {slices.Max(ratios), "x-floor-most"},
		{median, "µs-median"}, {bareMedian, "µs-floor-median"}, {p99, "µs-p99"}, {bareP99, "µs-floor-p99"},
		{x.each(x.Datagrams), "datagrams/package"}, {bare.each(bare.Datagrams), "floor-datagrams/package"},
		{x.each(x.reads), "turns/package"}, {bare.each(bare.reads), "floor-turns/package"},
		{x.each(x.writes), "calls/package"}, {bare.each(bare.writes), "floor-calls/package"},
		{float64(r.sent - r.got), "lost"}, {0, "ns/op"}, // of all together: means nothing
	} {
		b.ReportMetric(m.value, m.unit)
	}
	if st := r.server.Stats(); st.Peers != crowdSize || mode.Reliable() && r.sent != r.got || st.Socket.OutLost > 0 {
		b.Errorf("%d of %d are lost; the server counts %+v", r.sent-r.got, r.sent, st)
	}
	if mine, its := x.each(x.Datagrams), bare.each(bare.Datagrams); mine < its*0.98 || mine > its*1.02 {
		b.Errorf("%.2f datagrams a package, the bare loop has %.2f: that is no comparison", mine, its)
	}
}

// bareMain obeys lines of standard input:
//
//	listen MODE     answers the address
//	burden          answers CPU time in ns, datagrams, system calls that read and that wrote,
//	                and packages so far
func bareMain() {
	var f *bareLoop
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch words := strings.Fields(lines.Text()); words[0] {
		case "listen":
			f = newBareLoop(words[1] != "0")
			go f.serve()
			fmt.Println(f.addr)
		case "burden":
			fmt.Println(shelltest.ProcessCPU().Nanoseconds(), f.count.Load(), f.reads.Load(), f.writes.Load(), f.packages.Load())
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
	timed    *turnTimes // if set, notes how long turns take

	count, reads, writes, packages atomic.Uint64
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
			f.reads.Add(1)
			if f.timed == nil {
				f.pass(fd, int(n))
				continue
			}
			start, before := time.Now(), f.packages.Load()
			f.pass(fd, int(n))
			f.timed.add(time.Since(start), int(n), int(f.packages.Load()-before))
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
		if size == core.HeaderBytes && len(f.known) < crowdSize {
			f.known = append(f.known, *from)
		}
		if size != core.HeaderBytes+crowdPayload {
			continue
		}
		f.packages.Add(1)
		for k := range f.known {
			if f.known[k].Port != from.Port {
				add(&f.known[k], f.in.iovs[i].Base, size)
			} else if f.confirms {
				add(from, &f.answer[0], core.HeaderBytes+3)
			}
		}
	}
	for done := 0; done < out; {
		k, _, errno := syscall.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&f.out.msgs[done])), uintptr(out-done), 0, 0, 0)
		if errno != 0 {
			panic(errno)
		}
		done += int(k)
		f.writes.Add(1)
	}
	f.count.Add(uint64(n + out))
}
