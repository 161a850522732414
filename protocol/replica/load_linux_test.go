package replica

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/shell"
	"parley/internal/shell/shelltest"
	"parley/protocol/replica/core"
)

// This file is a crowd of clients, and the bare loop that the server is compared
// with, in processes of their own, so that CPU time is each one's own.

func init() { loadMain = helperMain }

// helperMain is a "bare" loop or a "crowd", or what BenchmarkRush needs. The bare loop answers each datagram of more than
// an ack's size, by an ack first if it acks.
func helperMain(what string) {
	switch what {
	case "crowd":
		crowdMain()
	case "rush":
		rushMain()
	case "trains":
		trainsMain()
	default:
		answer := []int{ackBytes, messageOverhead + len(answerName) + answerBytes}
		if what == fmt.Sprint("bare ", Unreliable) {
			answer = answer[1:]
		}
		shelltest.NewBareLoop(func(n int) []int {
			if n <= ackBytes {
				return nil
			}
			return answer
		}).Obey(os.Stdin)
	}
}

const (
	crowdSize  = 1000
	crowdRate  = 20 // a second, each
	crowdSlots = 1000 / crowdRate

	// maxLate is how far a crowd may be behind its time and catch up. One that the
	// machine held up for longer goes on from there: real clients do not send in one
	// burst what they could not send for a second, and no socket would hold it.
	maxLate = 5 * time.Millisecond

	questionBytes = 32
	answerBytes   = 200
	questionName  = "in"
	answerName    = "st"

	messageOverhead = 15 // what a message packet has besides name and data
	ackBytes        = 3
)

// member is a client of the crowd: an endpoint, or for the bare loop none.
type member struct {
	fd   int
	e    *core.Endpoint
	owed int // acks to the bare loop
}

type crowd struct {
	members []member
	to      unix.Sockaddr
	mode    Mode
	buf     [2048]byte

	sent, got int
}

// crowdMain obeys lines of standard input:
//
//	connect ADDR MODE      to a server of replica
//	bare ADDR MODE         to a bare loop
//	run SECONDS            all crowds at once; answers what each sent and got
func crowdMain() {
	var all []*crowd
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		f := strings.Fields(lines.Text())
		switch f[0] {
		case "connect", "bare":
			all = append(all, newCrowd(netip.MustParseAddrPort(f[1]), f[0] == "connect", Mode(f[2][0]-'0')))
			fmt.Println("done")
		case "run":
			var seconds int
			fmt.Sscan(f[1], &seconds)
			runCrowds(all, seconds)
			for _, c := range all {
				fmt.Print(c.sent, " ", c.got, " ")
			}
			fmt.Println()
		}
	}
}

func newCrowd(to netip.AddrPort, speaks bool, mode Mode) *crowd {
	c := &crowd{members: make([]member, crowdSize), to: &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}, mode: mode}
	shared := &core.Shared{Rand: shell.Rand()}
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
			c.members[i].e = core.NewClient(time.Now(), to, Config{}, shared)
		}
	}
	for open := 0; speaks && open < crowdSize; {
		open = 0
		for i := range c.members {
			m := &c.members[i]
			c.serve(m, time.Now(), false)
			if m.e.State() == core.StateOpen {
				open++
			}
		}
	}
	return c
}

// runCrowds has each member ask 20 times a second, a fiftieth of them each
// millisecond, and read what came two milliseconds later. Then it waits for the
// last answers. All crowds go through the same milliseconds, so that what
// disturbs the one disturbs the other.
func runCrowds(all []*crowd, seconds int) {
	for _, c := range all {
		c.sent, c.got = 0, 0
	}
	start := time.Now()
	for ms := range seconds * 1000 {
		wait := time.Until(start.Add(time.Duration(ms) * time.Millisecond))
		if wait < -maxLate {
			start, wait = start.Add(-wait), 0
		}
		time.Sleep(wait)
		for k := range all {
			c := all[(ms+k)%len(all)]
			now := time.Now()
			for i := ms % crowdSlots; i < crowdSize; i += crowdSlots {
				c.serve(&c.members[i], now, true)
			}
			for i := (ms + crowdSlots - 2) % crowdSlots; i < crowdSize; i += crowdSlots {
				c.serve(&c.members[i], now, false)
			}
		}
	}
	// A quarter of a second for stragglers; more for what was lost and comes again.
	for i, waiting := 0, true; i < 5 || waiting && i < 60; i++ {
		time.Sleep(50 * time.Millisecond)
		waiting = false
		for _, c := range all {
			for i := range c.members {
				c.serve(&c.members[i], time.Now(), false)
			}
			waiting = waiting || c.members[0].e != nil && c.mode != Unreliable && c.got < c.sent
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
			c.got++
		case EventClosed:
			panic(ev.Close)
		}
	}
	if ask {
		if err := m.e.Send(now, c.mode, questionName, c.buf[:questionBytes]); err != nil {
			panic(err)
		}
		c.sent++
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
		c.got++
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
		c.sent++
	}
}
