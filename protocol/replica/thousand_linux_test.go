package replica

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BenchmarkThousandConnections is the bar of the server: 1,000 connections, each
// of which sends 32 bytes and receives 200, 20 times a second. CPU time is that of
// the whole process, the collector's included, and is held against a process with
// a bare loop of recvmmsg and sendmmsg that gets and sends as many datagrams of the
// same sizes in the same milliseconds. Run it with -benchtime 5x: a round takes
// two seconds.
func BenchmarkThousandConnections(b *testing.B) {
	for _, tt := range []struct {
		name string
		mode Mode
	}{{"unreliable", Unreliable}, {"reliable", Reliable}, {"ordered", Ordered}} {
		b.Run(tt.name, func(b *testing.B) { benchThousand(b, tt.mode) })
	}
}

func benchThousand(b *testing.B, mode Mode) {
	var answer [answerBytes]byte
	s, err := Listen("127.0.0.1:0", Config{}, func(c *Conn, ev Event) {
		switch ev.Kind {
		case EventMessage:
			if err := c.Send(mode, answerName, answer[:]); err != nil {
				why, _ := c.Over()
				panic(fmt.Sprint(err, ": ", why))
			}
		case EventClosed:
			panic(ev.Close)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	before := liveHeap()
	bare, crowds := startHelper(b, "bare"), startHelper(b, "crowd")
	var addr, done string
	bare.ask(b, fmt.Sprint("listen ", mode), &addr)
	crowds.ask(b, fmt.Sprint("connect ", s.Addr(), " ", uint8(mode)), &done)
	crowds.ask(b, fmt.Sprint("bare ", addr, " ", uint8(mode)), &done)
	var sent, got, bareSent, bareGot [2]int // all, and in the last round
	round := func(seconds int) {
		crowds.ask(b, fmt.Sprint("run ", seconds), &sent[1], &got[1], &bareSent[1], &bareGot[1])
		for _, x := range []*[2]int{&sent, &got, &bareSent, &bareGot} {
			x[0] += x[1]
		}
	}
	round(1) // so that round trips are known and pools are filled

	var ratios, ours, floors []float64
	for b.Loop() {
		a, z := burdenOf(s), bareBurden(b, bare)
		round(2)
		x, y := burdenOf(s).since(a), bareBurden(b, bare).since(z)
		ours, floors, ratios = append(ours, x), append(floors, y), append(ratios, x/y)
	}
	b.ReportMetric(median(ours), "cpu-ns/datagram")
	b.ReportMetric(median(floors), "floor-ns/datagram")
	b.ReportMetric(median(ratios), "x-floor")
	b.ReportMetric((liveHeap()-before)/crowdSize, "B/connection")
	b.ReportMetric(100*float64(sent[0]-got[0])/float64(sent[0]), "%lost")
	b.ReportMetric(0, "ns/op") // of all together: means nothing
	// What finds a full socket buffer, on a machine that has other work to do, is
	// lost to the bare loop and to unreliable messages.
	st := s.Stats()
	b.ReportMetric(100*float64(st.Socket.InDropped)/float64(st.Socket.InDatagrams), "%dropped")
	_ = s.Do(func(m *Mux) { // goodbyes are none of the benchmark's business
		s.handle = func(*Conn, Event) {}
	})
	defer s.Close()
	if st.Conns != crowdSize || mode != Unreliable && got != sent {
		b.Errorf("%d of %d answers; the server counts %+v", got[0], sent[0], st)
	}
}

// burden is what a server has cost so far.
type burden struct {
	cpu       time.Duration
	datagrams uint64
}

func burdenOf(s *Server) burden {
	st := s.Stats().Socket
	return burden{processCPU(), st.InDatagrams + st.OutDatagrams}
}

func bareBurden(tb testing.TB, h *helper) (x burden) {
	h.ask(tb, "burden", &x.cpu, &x.datagrams)
	return x
}

// since returns the CPU time a datagram in ns.
func (x burden) since(then burden) float64 {
	return float64(x.cpu-then.cpu) / float64(x.datagrams-then.datagrams)
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[len(x)/2]
}

// liveHeap returns the bytes of the heap that are in use.
func liveHeap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
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
			f = newBareLoop(words[1] != fmt.Sprint(Unreliable))
			go f.serve()
			fmt.Println(f.addr)
		case "burden":
			fmt.Println(processCPU().Nanoseconds(), f.count.Load())
		}
	}
}

// bareLoop is the least that a Go program can do to answer datagrams in batches:
// recvmmsg and sendmmsg over the runtime's poller, without control messages, and
// addresses passed on as they came. Each datagram of more than an ack's size is
// answered, by an ack first if it acks.
type bareLoop struct {
	file    *os.File
	raw     syscall.RawConn
	addr    netip.AddrPort
	acks    bool
	in, out bareVectors
	count   atomic.Uint64
}

// bareVectors are the messages of one system call.
type bareVectors struct {
	msgs  []unix.Mmsghdr
	iovs  []unix.Iovec
	names []unix.RawSockaddrInet4
}

const bareBatch = 64

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

func newBareLoop(acks bool) *bareLoop {
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
	received, answer := make([]byte, bareBatch*2048), make([]byte, 2048)
	f := &bareLoop{
		file: os.NewFile(uintptr(fd), "bare"),
		acks: acks,
		addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port)),
		in:   newBareVectors(bareBatch, func(i int) *byte { return &received[i*2048] }),
		out:  newBareVectors(2*bareBatch, func(int) *byte { return &answer[0] }),
	}
	for i := range f.in.iovs {
		f.in.iovs[i].SetLen(2048)
	}
	f.raw, _ = f.file.SyscallConn()
	return f
}

// serve answers until the file is closed. What one Read brings is answered inside
// it, which saves a turn of the poller.
func (f *bareLoop) serve() {
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

func (f *bareLoop) answer(fd uintptr, n int) {
	out := 0
	add := func(name unix.RawSockaddrInet4, size int) {
		f.out.names[out] = name
		f.out.iovs[out].SetLen(size)
		out++
	}
	for i := range n {
		if f.in.msgs[i].Len <= ackBytes {
			continue
		}
		if f.acks {
			add(f.in.names[i], ackBytes)
		}
		add(f.in.names[i], messageOverhead+len(answerName)+answerBytes)
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
