package relay

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"parley/internal/shell"
	"parley/internal/shell/shelltest"
	"parley/protocol/relay/core"
)

// This file is a crowd of participants, in a process of its own, so that CPU time is each
// one's own. It speaks to a server of relay and to a bare loop in turns of 100 ms, so
// that what disturbs the one disturbs the other.

func init() { loadMain = helperMain }

// helperMain is a "crowd" or a "bare" loop, which confirms each package of a reliable mode and passes it on.
func helperMain(what string) {
	if what == "crowd" {
		crowdMain()
		return
	}
	confirms := what != fmt.Sprint("bare ", Unreliable)
	shelltest.NewBareRoom(crowdSize, core.HeaderBytes+crowdPayload, func(n int) []int {
		if n == core.HeaderBytes+crowdPayload && confirms {
			return []int{core.HeaderBytes + 3}
		}
		return nil
	}).Obey(os.Stdin)
}

const (
	crowdSize    = 32
	crowdRate    = 30 // packages a second, each
	crowdPayload = 100

	// crowdTurn is how many packages a crowd sends before it is the other's turn: three of
	// each member.
	crowdTurn = 3 * crowdSize

	// bareGather is how long the bare participants gather confirmations, as ours do.
	bareGather = 20 * time.Millisecond

	// maxGathered is how many confirmations they send at once.
	maxGathered = 96

	flagControl = 0x80
)

// member is a participant: an endpoint, or for the bare loop none.
type member struct {
	crowd *crowd
	fd    int
	e     *core.Endpoint
	next  time.Time // when it is to be called, or has confirmations to send
	owed  int       // confirmations to the bare loop
}

type crowd struct {
	members []member
	to      netip.AddrPort
	mode    Mode
	buf     [2048]byte

	sent, got int
	latency   []time.Duration
}

// crowdMain obeys lines of standard input:
//
//	join ADDR MODE      a server of relay
//	bare ADDR MODE      a bare loop
//	run TURNS           all crowds, in turns; answers for each what it sent and got
//	latency             answers for each the median and 99th percentile in ns since it was
//	                    last asked
func crowdMain() {
	epoll, err := unix.EpollCreate1(0)
	if err != nil {
		panic(err)
	}
	load := &load{epoll: epoll, byFD: map[int32]*member{}, epoch: time.Now()}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		f := strings.Fields(lines.Text())
		switch f[0] {
		case "join", "bare":
			load.add(netip.MustParseAddrPort(f[1]), f[0] == "join", Mode(f[2][0]-'0'))
			fmt.Println("done")
		case "run":
			var turns int
			fmt.Sscan(f[1], &turns)
			load.run(turns)
			for _, c := range load.crowds {
				fmt.Print(c.sent, " ", c.got, " ")
			}
			fmt.Println()
		case "latency":
			for _, c := range load.crowds {
				slices.Sort(c.latency)
				fmt.Print(int64(c.quantile(0.5)), " ", int64(c.quantile(0.99)), " ")
				c.latency = c.latency[:0]
			}
			fmt.Println()
		}
	}
}

func (c *crowd) quantile(q float64) time.Duration {
	if len(c.latency) == 0 {
		return 0
	}
	return c.latency[int(q*float64(len(c.latency)-1))]
}

// load drives all crowds from one thread.
type load struct {
	epoll  int
	crowds []*crowd
	byFD   map[int32]*member
	epoch  time.Time
	events [128]unix.EpollEvent
}

func (l *load) add(to netip.AddrPort, speaks bool, mode Mode) {
	c := &crowd{members: make([]member, crowdSize), to: to, mode: mode}
	shared := &core.Shared{Rand: shell.Rand()}
	for i := range c.members {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
		}
		if err == nil {
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 4<<20)
			err = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
		}
		if err != nil {
			panic(err)
		}
		m := &c.members[i]
		*m = member{crowd: c, fd: fd}
		l.byFD[int32(fd)] = m
		if speaks {
			if m.e, err = core.NewClient(time.Now(), to, Config{}, shared); err != nil {
				panic(err)
			}
			m.serve(time.Now())
		} else {
			_, _ = unix.Write(fd, c.buf[:shelltest.BareHello])
		}
	}
	l.crowds = append(l.crowds, c)
	l.spin(time.Now().Add(300*time.Millisecond), nil) // all join
	for i := range c.members {
		if speaks && c.members[i].e.State() != core.StateOpen {
			panic("it did not join")
		}
	}
}

// run has the members of one crowd send 30 times a second, one after the other, then those of
// the next: so many turns each. It waits for the last package.
func (l *load) run(turns int) {
	for _, c := range l.crowds {
		c.sent, c.got = 0, 0
	}
	step := time.Second / (crowdSize * crowdRate)
	at := time.Now()
	for i := range turns * len(l.crowds) {
		c := l.crowds[i%len(l.crowds)]
		for k := range crowdTurn {
			l.spin(at, nil)
			c.say(&c.members[k%crowdSize], l.epoch)
			at = at.Add(step)
		}
	}
	l.spin(time.Now().Add(time.Second), func() bool {
		for _, c := range l.crowds {
			if c.got < c.sent*(crowdSize-1) {
				return false
			}
		}
		return true
	})
	l.spin(time.Now().Add(50*time.Millisecond), nil) // the last confirmations
}

// spin takes what comes until a time, or until done.
func (l *load) spin(until time.Time, done func() bool) {
	for {
		now := time.Now()
		if !now.Before(until) || done != nil && done() {
			return
		}
		// The wait is short of the end by up to a millisecond, which is spun away: the crowd's
		// clock is to be better than what it measures.
		wait := int(until.Sub(now) / time.Millisecond)
		n, err := unix.EpollWait(l.epoll, l.events[:], min(wait, 5))
		if err != nil && err != unix.EINTR {
			panic(err)
		}
		now = time.Now()
		for i := range max(n, 0) {
			l.byFD[l.events[i].Fd].receive(now, l.epoch)
		}
		for _, c := range l.crowds {
			for i := range c.members {
				if m := &c.members[i]; !m.next.IsZero() && !now.Before(m.next) {
					m.serve(now)
				}
			}
		}
	}
}

// say sends a package with the time in it.
func (c *crowd) say(m *member, epoch time.Time) {
	now := time.Now()
	payload := c.buf[1024 : 1024+crowdPayload]
	binary.BigEndian.PutUint64(payload, uint64(now.Sub(epoch)))
	c.sent++
	if m.e == nil {
		b := core.Datagram{Kind: core.KindPackage, Mode: c.mode, Payload: payload}
		_, _ = unix.Write(m.fd, b.AppendTo(c.buf[:0]))
		return
	}
	if err := m.e.Send(now, c.mode, ToOthers, payload); err != nil {
		panic(err)
	}
	m.serve(now)
}

// receive takes all that waits at a socket.
func (m *member) receive(now time.Time, epoch time.Time) {
	c := m.crowd
	for {
		n, err := unix.Read(m.fd, c.buf[:1024])
		if err != nil {
			break
		}
		if m.e != nil {
			m.e.HandleDatagram(now, c.to, c.buf[:n])
			continue
		}
		if n >= core.HeaderBytes+crowdPayload {
			c.took(now, epoch, c.buf[core.HeaderBytes:n])
			if m.owed++; c.mode.Reliable() && m.next.IsZero() {
				m.next = now.Add(bareGather)
			}
		}
	}
	if m.e == nil {
		return
	}
	for ev, ok := m.e.PollEvent(); ok; ev, ok = m.e.PollEvent() {
		switch ev.Kind {
		case EventPackage:
			c.took(now, epoch, ev.Package.Payload)
		case EventLeft:
			panic(ev.Close)
		}
	}
	m.serve(now)
}

func (c *crowd) took(now, epoch time.Time, payload []byte) {
	c.got++
	c.latency = append(c.latency, now.Sub(epoch)-time.Duration(binary.BigEndian.Uint64(payload)))
}

// serve sends what a member has to send, and notes when it is to be called next.
func (m *member) serve(now time.Time) {
	c := m.crowd
	if m.e == nil {
		for ; m.owed > 0; m.owed -= min(m.owed, maxGathered) {
			c.buf[0] = flagControl
			_, _ = unix.Write(m.fd, c.buf[:core.HeaderBytes+3*min(m.owed, maxGathered)])
		}
		m.next = time.Time{}
		return
	}
	if at, ok := m.e.NextTimeout(); ok && !at.After(now) {
		m.e.HandleTimeout(now)
	}
	for {
		n, _, ok := m.e.PollTransmit(c.buf[:1024])
		if !ok {
			break
		}
		_, _ = unix.Write(m.fd, c.buf[:n])
	}
	m.next, _ = m.e.NextTimeout()
}
