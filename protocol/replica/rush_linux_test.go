package replica

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley/internal/shell/shelltest"
)

// BenchmarkRush is one connection at full speed, W2 of the benchmarks: a client in a process of
// its own sends ordered messages of 64 bytes as fast as they go. Its floor is two processes that
// do nothing but move as many datagrams of the same sizes, an ack for each included, in the
// same trains of 64 and with the same window. Rounds of both alternate. CPU time is that of
// both processes. Run it with -benchtime 5x: a round takes two seconds.
func BenchmarkRush(b *testing.B) {
	var got atomic.Uint64
	s, err := Listen("127.0.0.1:0", Config{}, func(_ *Conn, ev Event) {
		if ev.Kind == EventMessage {
			got.Add(1)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	client := shelltest.StartHelper(b, loadVariable, "rush")
	far, near := shelltest.StartHelper(b, loadVariable, "trains"), shelltest.StartHelper(b, loadVariable, "trains")
	var addr, done string
	client.Ask(b, "dial "+s.Addr().String(), &done)
	far.Ask(b, "serve", &addr)

	var rate, cost, floorRate, floorCost, ratio []float64
	for b.Loop() {
		var sent uint64
		var cpu, farBefore, farAfter, took time.Duration
		before, count := shelltest.ProcessCPU(), got.Load()
		client.Ask(b, "run 1000", &sent, &cpu, &took)
		cpu += shelltest.ProcessCPU() - before
		n := float64(got.Load() - count)
		rate, cost = append(rate, n/took.Seconds()), append(cost, float64(cpu)/n)

		far.Ask(b, "burden", &farBefore)
		near.Ask(b, "send "+addr+" 1000", &sent, &cpu, &took)
		far.Ask(b, "burden", &farAfter)
		cpu += farAfter - farBefore
		floorRate, floorCost = append(floorRate, float64(sent)/took.Seconds()), append(floorCost, float64(cpu)/float64(sent))
		ratio = append(ratio, cost[len(cost)-1]/floorCost[len(floorCost)-1])
	}
	b.ReportMetric(shelltest.Median(rate), "messages/s")
	b.ReportMetric(shelltest.Median(cost)/1000, "cpu-s/million")
	b.ReportMetric(shelltest.Median(floorRate), "floor-datagrams/s")
	b.ReportMetric(shelltest.Median(floorCost)/1000, "floor-cpu-s/million")
	b.ReportMetric(shelltest.Median(ratio), "x-floor")
	b.ReportMetric(0, "ns/op") // of all together: means nothing
}

// rushMain is the client that sends as fast as it can. It obeys lines:
//
//	dial ADDR  answers when it is connected
//	run MS     answers how many messages it has sent in that time, its CPU time, and the time
func rushMain() {
	var c *Client
	data := make([]byte, 64)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var what, arg string
		fmt.Sscan(lines.Text(), &what, &arg)
		switch what {
		case "dial":
			var err error
			if c, err = Dial(context.Background(), arg, Config{}); err != nil {
				panic(err)
			}
			fmt.Println("connected")
		case "run":
			ms, _ := strconv.Atoi(arg)
			start, cpu, n := time.Now(), shelltest.ProcessCPU(), 0
			for end := start.Add(time.Duration(ms) * time.Millisecond); time.Now().Before(end); n += 256 {
				for range 256 { // the clock is dear
					if err := c.SendWait(context.Background(), Ordered, "m", data); err != nil {
						panic(err)
					}
				}
			}
			fmt.Println(n, int64(shelltest.ProcessCPU()-cpu), int64(time.Since(start)))
		}
	}
}

// trainsMain is one end of the floor. It obeys lines:
//
//	serve         answers its address, and from then on each datagram by an ack
//	send ADDR MS  sends for that time; answers as run does
//	burden        answers its CPU time
func trainsMain() {
	f := newTrains()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var what, addr string
		var ms int64
		fmt.Sscan(lines.Text(), &what, &addr, &ms)
		switch what {
		case "serve":
			go f.serve()
			fmt.Println(f.addr())
		case "send":
			start, cpu := time.Now(), shelltest.ProcessCPU()
			n := f.send(netip.MustParseAddrPort(addr), start.Add(time.Duration(ms)*time.Millisecond))
			fmt.Println(n, int64(shelltest.ProcessCPU()-cpu), int64(time.Since(start)))
		case "burden":
			fmt.Println(int64(shelltest.ProcessCPU()))
		}
	}
}

// trains is a socket that blocks, and moves datagrams in trains of 64 with one call for each.
type trains struct {
	fd  int
	in  []byte
	oob []byte
}

const (
	trainLength = 64
	rushBytes   = messageOverhead + 1 + 64
)

func newTrains() *trains {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1)
	}
	if err != nil {
		panic(err)
	}
	for _, option := range []int{unix.SO_RCVBUFFORCE, unix.SO_SNDBUFFORCE, unix.SO_RCVBUF, unix.SO_SNDBUF} {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 4<<20)
	}
	return &trains{fd: fd, in: make([]byte, 65535), oob: make([]byte, 64)}
}

func (f *trains) addr() netip.AddrPort {
	name, err := unix.Getsockname(f.fd)
	if err != nil {
		panic(err)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*unix.SockaddrInet4).Port))
}

// train sends n datagrams of size bytes.
func (f *trains) train(n, size int, to unix.Sockaddr) {
	control := f.oob[:unix.CmsgSpace(2)]
	h := (*unix.Cmsghdr)(unsafe.Pointer(&control[0]))
	h.Level, h.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(2))
	*(*uint16)(unsafe.Pointer(&control[unix.SizeofCmsghdr])) = uint16(size)
	if _, err := unix.SendmsgN(f.fd, f.in[:n*size], control, to, 0); err != nil {
		panic(err)
	}
}

func (f *trains) serve() {
	for {
		n, _, _, from, err := unix.Recvmsg(f.fd, f.in, f.oob, 0)
		if err != nil {
			panic(err)
		}
		f.train(n/rushBytes, ackBytes, from)
	}
}

// send keeps a window of datagrams on their way.
func (f *trains) send(to netip.AddrPort, until time.Time) (sent uint64) {
	peer := &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}
	for open := 0; ; {
		for ; open <= 4096-trainLength && time.Now().Before(until); open += trainLength {
			f.train(trainLength, rushBytes, peer)
			sent += trainLength
		}
		if open == 0 {
			return sent
		}
		n, _, _, _, err := unix.Recvmsg(f.fd, f.in, f.oob, 0)
		if err != nil {
			panic(err)
		}
		open -= n / ackBytes
	}
}
