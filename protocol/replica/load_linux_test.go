package replica

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// This file is a crowd of clients in a process of its own, so that the CPU time
// and the memory of the benchmark's process are those of the server alone.

func init() { loadMain = crowdMain }

// load is the crowd's process as seen from the benchmark.
type load struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func startLoad(tb testing.TB) *load {
	tb.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), loadVariable+"=1", "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	return &load{in, bufio.NewReader(out)}
}

// ask has the crowd do something and returns its answer.
func (l *load) ask(tb testing.TB, format string, args ...any) string {
	tb.Helper()
	fmt.Fprintf(l.in, format+"\n", args...)
	answer, err := l.out.ReadString('\n')
	if err != nil {
		tb.Fatalf("load: %v", err)
	}
	return strings.TrimSpace(answer)
}

const (
	crowdSize  = 1000
	crowdRate  = 20 // a second, each
	crowdSlots = 1000 / crowdRate

	questionBytes = 32
	answerBytes   = 200
	questionName  = "in"
	answerName    = "st"
)

// member is a client of the crowd: an endpoint, or for the bare loop none.
type member struct {
	fd        int
	e         *Endpoint
	sent, got int
	owed      int // acks to the bare loop
}

type crowd struct {
	members []member
	to      unix.Sockaddr
	mode    Mode
	buf     [2048]byte
}

// crowdMain obeys lines of standard input:
//
//	connect ADDR replica|bare MODE
//	run SECONDS
//	leave
func crowdMain() {
	var c *crowd
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		f := strings.Fields(lines.Text())
		switch f[0] {
		case "connect":
			c = newCrowd(netip.MustParseAddrPort(f[1]), f[2] == "replica", Mode(f[3][0]-'0'))
			fmt.Println("connected")
		case "run":
			var seconds int
			fmt.Sscan(f[1], &seconds)
			c.run(seconds)
			sent, got := 0, 0
			for i := range c.members {
				sent, got = sent+c.members[i].sent, got+c.members[i].got
			}
			fmt.Println(sent, got)
		case "leave":
			c.leave()
			fmt.Println("left")
		}
	}
}

func newCrowd(to netip.AddrPort, speaks bool, mode Mode) *crowd {
	c := &crowd{members: make([]member, crowdSize), to: &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}, mode: mode}
	shared := randomShared()
	for i := range c.members {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Connect(fd, c.to)
		}
		if err != nil {
			panic(err)
		}
		c.members[i].fd = fd
		if speaks {
			c.members[i].e = NewClient(time.Now(), to, Config{}, shared)
		}
	}
	for open := 0; speaks && open < crowdSize; {
		open = 0
		for i := range c.members {
			m := &c.members[i]
			c.serve(m, time.Now(), false)
			if m.e.State() == StateOpen {
				open++
			}
		}
	}
	return c
}

// run has each member ask 20 times a second, a fiftieth of them each millisecond,
// and read what came a millisecond later. Then it waits for the last answers.
func (c *crowd) run(seconds int) {
	for i := range c.members {
		c.members[i].sent, c.members[i].got = 0, 0
	}
	start := time.Now()
	for ms := range seconds * 1000 {
		time.Sleep(time.Until(start.Add(time.Duration(ms) * time.Millisecond)))
		now := time.Now()
		for i := ms % crowdSlots; i < crowdSize; i += crowdSlots {
			c.serve(&c.members[i], now, true)
		}
		for i := (ms + crowdSlots - 2) % crowdSlots; i < crowdSize; i += crowdSlots {
			c.serve(&c.members[i], now, false)
		}
	}
	for range 5 { // a quarter of a second for stragglers
		time.Sleep(50 * time.Millisecond)
		for i := range c.members {
			c.serve(&c.members[i], time.Now(), false)
		}
	}
}

func (c *crowd) serve(m *member, now time.Time, ask bool) {
	for {
		n, err := unix.Read(m.fd, c.buf[:])
		if err != nil {
			break
		}
		c.take(m, now, c.buf[:n])
	}
	if m.e == nil {
		c.serveBare(m, ask)
		return
	}
	if at, ok := m.e.NextTimeout(); ok && !at.After(now) {
		m.e.HandleTimeout(now)
	}
	for ev, ok := m.e.PollEvent(); ok; ev, ok = m.e.PollEvent() {
		switch ev.Kind {
		case EventMessage:
			m.got++
		case EventClosed:
			panic(ev.Close)
		}
	}
	if ask {
		if err := m.e.Send(now, c.mode, questionName, c.buf[:questionBytes]); err != nil {
			panic(err)
		}
		m.sent++
	}
	for {
		n, _, ok := m.e.PollTransmit(c.buf[:])
		if !ok {
			return
		}
		_, _ = unix.Write(m.fd, c.buf[:n])
	}
}

func (c *crowd) take(m *member, now time.Time, b []byte) {
	switch {
	case m.e != nil:
		addr := m.e.Peer()
		m.e.HandleDatagram(now, addr, b)
	case len(b) > ackBytes:
		m.got++
		if c.mode != Unreliable {
			m.owed++
		}
	}
}

// serveBare sends what an endpoint would: a question, and an ack for each answer.
func (c *crowd) serveBare(m *member, ask bool) {
	for ; m.owed > 0; m.owed-- {
		_, _ = unix.Write(m.fd, c.buf[:ackBytes])
	}
	if ask {
		_, _ = unix.Write(m.fd, c.buf[:messageOverhead+len(questionName)+questionBytes])
		m.sent++
	}
}

func (c *crowd) leave() {
	for i := range c.members {
		m := &c.members[i]
		if m.e != nil {
			m.e.Close(time.Now(), "")
			c.flush(m)
		}
		unix.Close(m.fd)
	}
}

func (c *crowd) flush(m *member) {
	for n, _, ok := m.e.PollTransmit(c.buf[:]); ok; n, _, ok = m.e.PollTransmit(c.buf[:]) {
		_, _ = unix.Write(m.fd, c.buf[:n])
	}
}

// processCPU returns the CPU time of this process.
func processCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
