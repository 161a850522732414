package replica

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BenchmarkThousandConnections is the bar of the server: 1,000 connections, each
// of which sends 32 bytes and receives 200, 20 times a second. CPU time is that of
// the whole process, the collector's included, and is held against a bare loop of
// recvmmsg and sendmmsg that gets and sends as many datagrams of the same sizes in
// the same run. Run it with -benchtime 3x: a round takes 6 s.
func BenchmarkThousandConnections(b *testing.B) {
	for _, tt := range []struct {
		name string
		mode Mode
	}{{"unreliable", Unreliable}, {"reliable", Reliable}, {"ordered", Ordered}} {
		b.Run(tt.name, func(b *testing.B) {
			const seconds = 2
			var ours, bare []float64
			for b.Loop() {
				a := benchReplica(b, tt.mode, seconds)
				z := benchBare(b, tt.mode, seconds)
				ours, bare = append(ours, a.perDatagram()), append(bare, z.perDatagram())
				a.report(b)
				b.ReportMetric(100*float64(z.lost)/float64(z.sent), "%floor-lost")
			}
			slices.Sort(ours)
			slices.Sort(bare)
			a, z := ours[len(ours)/2], bare[len(bare)/2]
			b.ReportMetric(a, "cpu-ns/datagram")
			b.ReportMetric(z, "floor-ns/datagram")
			b.ReportMetric(a/z, "x-floor")
			b.ReportMetric(0, "ns/op") // of both together: means nothing
		})
	}
}

// burden is what a run cost the server.
type burden struct {
	cpu        time.Duration
	datagrams  uint64
	sent, lost int
	allocated  uint64  // objects
	memory     float64 // bytes a connection
}

func (x burden) perDatagram() float64 { return float64(x.cpu) / float64(x.datagrams) }

func (x burden) report(b *testing.B) {
	b.ReportMetric(100*float64(x.lost)/float64(x.sent), "%lost")
	b.ReportMetric(x.memory, "B/connection")
	b.ReportMetric(float64(x.allocated)/float64(x.datagrams), "allocs/datagram")
}

// tally reads the crowd's answer to run.
func (x *burden) tally(b *testing.B, answer string) {
	var got int
	if _, err := fmt.Sscan(answer, &x.sent, &got); err != nil {
		b.Fatalf("the crowd says %q", answer)
	}
	x.lost = x.sent - got
}

func benchReplica(b *testing.B, mode Mode, seconds int) (x burden) {
	var answer [answerBytes]byte
	s, err := Listen("127.0.0.1:0", Config{}, func(c *Conn, ev Event) {
		if ev.Kind == EventMessage {
			if err := c.Send(mode, answerName, answer[:]); err != nil {
				panic(err)
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	before := heap()
	l := startLoad(b)
	l.ask(b, "connect %v replica %d", s.Addr(), mode)
	l.ask(b, "run 1") // so that round trips are known and pools are filled
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	mallocs, st, cpu := m.Mallocs, s.Stats().Socket, processCPU()
	x.tally(b, l.ask(b, "run %d", seconds))
	x.cpu = processCPU() - cpu
	now := s.Stats()
	x.datagrams = now.Socket.InDatagrams + now.Socket.OutDatagrams - st.InDatagrams - st.OutDatagrams
	runtime.ReadMemStats(&m)
	x.allocated = m.Mallocs - mallocs
	x.memory = (heap() - before) / crowdSize
	if now.Conns != crowdSize || now.Socket.InDropped > 0 || now.Socket.OutLost > 0 {
		b.Errorf("the server counts %+v", now)
	}
	l.ask(b, "leave")
	return x
}

// heap returns the live bytes of the heap.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

func benchBare(b *testing.B, mode Mode, seconds int) (x burden) {
	f := newBareLoop(b, mode != Unreliable)
	done := make(chan struct{})
	go func() {
		f.serve()
		close(done)
	}()
	l := startLoad(b)
	l.ask(b, "connect %v bare %d", f.addr, mode)
	l.ask(b, "run 1")
	runtime.GC()
	cpu, count := processCPU(), f.count.Load()
	x.tally(b, l.ask(b, "run %d", seconds))
	x.cpu = processCPU() - cpu
	l.ask(b, "leave")
	f.file.Close()
	<-done
	x.datagrams = f.count.Load() - count
	return x
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

func newBareLoop(tb testing.TB, acks bool) *bareLoop {
	tb.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		tb.Fatal(err)
	}
	for _, option := range []int{unix.SO_RCVBUFFORCE, unix.SO_SNDBUFFORCE, unix.SO_RCVBUF, unix.SO_SNDBUF} {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 4<<20)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		tb.Fatal(err)
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
