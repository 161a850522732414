package duplex

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley/protocol/duplex/core"
)

// This file is a crowd of clients, and the bare writes that the server is compared with, in
// processes of their own, so that CPU time is each one's own.

func init() { loadMain = helperMain }

const (
	crowdSize     = 500
	crowdElements = 100
	crowdData     = 17 // of an element, its kind included
	crowdDatagram = core.HeaderBytes + 3 + crowdData
)

// crowdSchema is that of the benchmark.
var crowdSchema = &core.Schema{
	FromServer: core.Elements{Others: core.Kinds(map[uint8]core.Size{1: core.Fixed(crowdData - 1)}), Kinds: true},
	FromClient: core.Elements{Others: core.Fixed(8)},
}

func helperMain(what string) {
	if what == "bare" {
		bareMain()
		return
	}
	crowdMain()
}

// crowd is 500 feeds, which count what comes.
type crowd struct {
	mu       sync.Mutex
	fds      []int
	members  []*crowdMember // of a server of duplex
	got, bad int
}

// crowdMember is a client: its endpoint has the main, and the feed's answers.
type crowdMember struct {
	*core.Endpoint
	fd   int
	main net.Conn
	mu   *sync.Mutex
}

// crowdMain obeys lines of standard input:
//
//	connect MAIN FEED   500 clients to a server of duplex
//	hold MAIN COUNT     so many mains without a feed, which then say nothing
//	open                500 bare sockets; answers their ports
//	count               answers what each of both has got since the last time
func crowdMain() {
	ours, bare := &crowd{}, &crowd{}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		f := strings.Fields(lines.Text())
		switch f[0] {
		case "connect":
			ours.connect(netip.MustParseAddrPort(f[1]), netip.MustParseAddrPort(f[2]))
			go ours.drain()
			go ours.keepAlive()
			fmt.Println("done")
		case "open":
			for range crowdSize {
				fd := openUDP()
				bare.fds = append(bare.fds, fd)
				fmt.Print(portOf(fd), " ")
			}
			fmt.Println()
			go bare.drain()
		case "hold":
			fmt.Println(hold(f[1], f[2]))
		case "count":
			for _, c := range []*crowd{ours, bare} {
				c.mu.Lock()
				fmt.Print(c.got, " ", c.bad, " ")
				c.got = 0
				c.mu.Unlock()
			}
			fmt.Println()
		}
	}
}

// held are mains that stay open.
var held []net.Conn

// hold opens mains, joins without a feed, and reads the first sync.
func hold(main, count string) string {
	var n int
	fmt.Sscan(count, &n)
	for range n {
		conn, err := net.Dial("tcp", main)
		if err != nil {
			return "cannot-dial"
		}
		held = append(held, conn)
		if _, err := conn.Write([]byte{core.CodeConnInit, core.CodeConnFailed}); err != nil {
			return "cannot-write"
		}
	}
	// CONN_INIT_REP, SYNC_START, 100 elements, SYNC_END.
	buf := make([]byte, 7+1+100*(3+crowdData)+1)
	for _, conn := range held {
		if _, err := io.ReadFull(conn, buf); err != nil || buf[len(buf)-1] != core.CodeSyncEnd {
			return "cannot-read"
		}
		if _, err := conn.Write([]byte{core.CodeSyncOK}); err != nil {
			return "cannot-write"
		}
	}
	return "done"
}

func openUDP() int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		panic(err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1<<20)
	return fd
}

func portOf(fd int) int {
	name, err := unix.Getsockname(fd)
	if err != nil {
		panic(err)
	}
	return name.(*unix.SockaddrInet4).Port
}

// connect brings 500 players into the game.
func (c *crowd) connect(main, feed netip.AddrPort) {
	for range crowdSize {
		conn, err := net.Dial("tcp", main.String())
		if err != nil {
			panic(err)
		}
		fd := openUDP()
		if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(feed.Port()), Addr: feed.Addr().As4()}); err != nil {
			panic(err)
		}
		m := &crowdMember{fd: fd, main: conn, mu: &c.mu, Endpoint: core.NewClient(time.Now(), main, feed, Config{Schema: crowdSchema}, &core.Shared{Rand: rand.New(rand.NewPCG(uint64(fd), 77))})}
		c.members, c.fds = append(c.members, m), append(c.fds, fd)
		m.flush()
		go m.read()
	}
	for open := 0; open < crowdSize; {
		time.Sleep(10 * time.Millisecond)
		open = 0
		c.mu.Lock()
		for _, m := range c.members {
			m.receive()
			m.HandleTimeout(time.Now())
			m.flush()
			if m.State() == core.StateOpen && m.FeedUp() {
				open++
			}
		}
		c.mu.Unlock()
	}
}

// read reads main.
func (m *crowdMember) read() {
	buf := make([]byte, 4096)
	for {
		n, err := m.main.Read(buf)
		if err != nil {
			return
		}
		m.mu.Lock()
		for b := buf[:n]; len(b) > 0; {
			b = b[m.HandleBytes(time.Now(), b):]
			for _, ok := m.PollEvent(); ok; _, ok = m.PollEvent() {
			}
		}
		m.flush()
		m.mu.Unlock()
	}
}

// receive takes what came before there were updates.
func (m *crowdMember) receive() {
	var buf [2048]byte
	for {
		n, err := unix.Read(m.fd, buf[:])
		if err != nil {
			return
		}
		m.HandleDatagram(time.Now(), m.FeedAddr(), buf[:n])
	}
}

// flush sends what the endpoint has.
func (m *crowdMember) flush() {
	var buf [core.MaxDatagram]byte
	for _, ok := m.PollEvent(); ok; _, ok = m.PollEvent() {
	}
	for n := m.PollBytes(buf[:]); n > 0; n = m.PollBytes(buf[:]) {
		_, _ = m.main.Write(buf[:n])
		m.Written(time.Now())
	}
	for n, _, ok := m.PollTransmit(buf[:]); ok; n, _, ok = m.PollTransmit(buf[:]) {
		_, _ = unix.Write(m.fd, buf[:n])
	}
}

// keepAlive has the endpoints do what is due.
func (c *crowd) keepAlive() {
	for range time.Tick(time.Second) {
		c.mu.Lock()
		for _, m := range c.members {
			m.HandleTimeout(time.Now())
			m.flush()
		}
		c.mu.Unlock()
	}
}

// drain counts what comes on all feeds. What is no update goes to its endpoint.
func (c *crowd) drain() {
	epoll, err := unix.EpollCreate1(0)
	if err != nil {
		panic(err)
	}
	for i, fd := range c.fds {
		if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			panic(err)
		}
	}
	const batch = 128
	bufs := make([]byte, batch*64)
	v := newVectors(batch)
	for i := range v.msgs {
		v.iovs[i].Base = &bufs[i*64]
		v.iovs[i].SetLen(64)
	}
	ready := make([]unix.EpollEvent, 64)
	for {
		n, err := unix.EpollWait(epoll, ready, -1)
		if err != nil && err != unix.EINTR {
			panic(err)
		}
		c.mu.Lock()
		for _, r := range ready[:max(n, 0)] {
			c.drainOne(int(r.Fd), &v, bufs)
		}
		c.mu.Unlock()
	}
}

func (c *crowd) drainOne(i int, v *vectors, bufs []byte) {
	for {
		n, _, errno := syscall.Syscall6(unix.SYS_RECVMMSG, uintptr(c.fds[i]), uintptr(unsafe.Pointer(&v.msgs[0])), uintptr(len(v.msgs)), 0, 0, 0)
		if errno != 0 {
			return
		}
		for k := range int(n) {
			b := bufs[k*64 : k*64+int(v.msgs[k].Len)]
			switch {
			case len(b) == crowdDatagram && b[core.HeaderBytes] == core.CodeUpdate:
				c.got++
			case c.members != nil:
				c.members[i].HandleDatagram(time.Now(), c.members[i].FeedAddr(), b)
			default:
				c.bad++
			}
		}
		if int(n) < len(v.msgs) {
			return
		}
	}
}

// vectors are the messages of one system call.
type vectors struct {
	msgs  []unix.Mmsghdr
	iovs  []unix.Iovec
	names []unix.RawSockaddrInet4
}

func newVectors(n int) vectors {
	v := vectors{make([]unix.Mmsghdr, n), make([]unix.Iovec, n), make([]unix.RawSockaddrInet4, n)}
	for i := range v.msgs {
		v.msgs[i].Hdr.Iov = &v.iovs[i]
		v.msgs[i].Hdr.SetIovlen(1)
	}
	return v
}
