package stamp

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
	"parley/protocol/stamp/core"
)

// This file is a crowd of clients, and the bare loop that the server is compared
// with, in processes of their own, so that CPU time is each one's own.

func init() { loadMain = helperMain }

const (
	crowdSize = 1000
	crowdRate = 20 // packets a second, to each

	// sweepMS is how many milliseconds the crowd takes to look at each member once, so
	// that acks are spread as those of clients in many places are.
	sweepMS = 20

	pushedBytes = 200
)

// helperMain is a "bare" loop, which answers nothing and pushes, or a "crowd".
func helperMain(what string) {
	if what == "bare" {
		shelltest.NewBareLoop(func(int) []int { return nil }).Obey(os.Stdin)
		return
	}
	crowdMain()
}

// member is a client of the crowd: an endpoint, or for the bare loop none.
type member struct {
	fd   int
	e    *core.Endpoint
	owed int // acks to the bare loop
}

type crowd struct {
	members []member
	acks    bool
	buf     [2048]byte
	got     int
}

// crowdMain obeys lines of standard input:
//
//	connect ADDR MODE      to a server of stamp
//	bare ADDR MODE         to a bare loop
//	run MS                 all crowds at once; answers what each got
func crowdMain() {
	var all []*crowd
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		f := strings.Fields(lines.Text())
		switch f[0] {
		case "connect", "bare":
			all = append(all, newCrowd(netip.MustParseAddrPort(f[1]), f[0] == "connect", f[2] != Unreliable.String()))
			fmt.Println("done")
		case "run":
			var ms int
			fmt.Sscan(f[1], &ms)
			runCrowds(all, ms)
			for _, c := range all {
				fmt.Print(c.got, " ")
			}
			fmt.Println()
		}
	}
}

func newCrowd(to netip.AddrPort, speaks, acks bool) *crowd {
	c := &crowd{members: make([]member, crowdSize), acks: acks}
	shared := &core.Shared{Rand: shell.Rand()}
	for i := range c.members {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
		}
		if err != nil {
			panic(err)
		}
		c.members[i].fd = fd
		if speaks {
			c.members[i].e = core.NewClient(time.Now(), to, Config{}, shared)
		} else {
			_, _ = unix.Write(fd, c.buf[:shelltest.BareHello])
		}
	}
	for open := 0; speaks && open < crowdSize; {
		open = 0
		for i := range c.members {
			c.serve(&c.members[i], time.Now())
			if c.members[i].e.State() == core.StateOpen {
				open++
			}
		}
	}
	return c
}

// runCrowds looks after all members for a while, a twentieth of them each millisecond. All
// crowds go through the same milliseconds, so that what disturbs the one disturbs the other.
func runCrowds(all []*crowd, ms int) {
	for _, c := range all {
		c.got = 0
	}
	turn := 0
	shelltest.Tick(ms, time.Millisecond, func() {
		for k := range all {
			c, now := all[(turn+k)%len(all)], time.Now()
			for i := turn % sweepMS; i < crowdSize; i += sweepMS {
				c.serve(&c.members[i], now)
			}
		}
		turn++
	})
}

func (c *crowd) serve(m *member, now time.Time) {
	for {
		n, err := unix.Read(m.fd, c.buf[:])
		if err != nil {
			break
		}
		switch {
		case m.e != nil:
			m.e.HandleDatagram(now, m.e.Peer(), c.buf[:n])
		default:
			c.got++
			m.owed++
		}
	}
	if m.e == nil {
		for ; m.owed > 0; m.owed-- {
			if c.acks {
				_, _ = unix.Write(m.fd, c.buf[:core.HeaderBytes])
			}
		}
		return
	}
	if at, ok := m.e.NextTimeout(); ok && !at.After(now) {
		m.e.HandleTimeout(now)
	}
	for ev, ok := m.e.PollEvent(); ok; ev, ok = m.e.PollEvent() {
		switch ev.Kind {
		case EventEntity:
			c.got++
		case EventClosed:
			panic(ev.Close)
		}
	}
	for n, _, ok := m.e.PollTransmit(c.buf[:]); ok; n, _, ok = m.e.PollTransmit(c.buf[:]) {
		_, _ = unix.Write(m.fd, c.buf[:n])
	}
}
