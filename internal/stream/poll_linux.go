package stream

import (
	"os"
	"syscall"
)

// poller reads the connections of a Listener with one goroutine. A goroutine for each would cost 2.5 KiB of stack and its
// bookkeeping, for connections that are silent most of the time. It has an epoll instance of its own, and the runtime waits
// for that as for any other file.
//
// A connection is armed when Turn has taken the bytes that came before, and the system reports it once. So it has at most one
// buffer.
type poller struct {
	hub   *hub
	epoll int
	file  *os.File // the same
	raw   syscall.RawConn

	// Guarded by hub.mu.
	conns []*Conn // by the number that the system knows them by
	free  []int32

	// Owned by its goroutine.
	events [64]syscall.EpollEvent
	count  int
	failed error
}

// polled is the poller's part of a connection.
type polled struct {
	in         bool // it has a number; guarded by hub.mu
	fd, number int32
}

// startPoller starts a poller, or returns nil if the system has none to give.
func startPoller(h *hub) *poller {
	p := newPoller(h)
	if p != nil {
		h.group.Go(p.run)
	}
	return p
}

func newPoller(h *hub) *poller {
	epoll, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	if err := syscall.SetNonblock(epoll, true); err != nil { // so that the runtime waits for it
		syscall.Close(epoll)
		return nil
	}
	p := &poller{hub: h, epoll: epoll, file: os.NewFile(uintptr(epoll), "epoll of connections")}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		p.file.Close()
		return nil
	}
	return p
}

// close ends the goroutine.
func (p *poller) close() {
	if p != nil {
		_ = p.file.Close() // a second time changes nothing
	}
}

// add takes a connection, and reports whether that is possible. hub.mu is held, as for arm and forget.
func (p *poller) add(c *Conn) bool {
	if p == nil {
		return false
	}
	at := &c.polled
	if n := len(p.free); n > 0 {
		at.number, p.free = p.free[n-1], p.free[:n-1]
	} else {
		at.number = int32(len(p.conns))
		p.conns = append(p.conns, nil)
	}
	p.conns[at.number], at.in = c, true
	var failed error
	err := c.raw.Control(func(fd uintptr) {
		at.fd = int32(fd)
		failed = p.control(syscall.EPOLL_CTL_ADD, c)
	})
	if err != nil || failed != nil {
		p.forget(c)
		return false
	}
	return true
}

// arm makes the system report when there is something to read. The connection is not closed.
func (p *poller) arm(c *Conn) {
	c.armed = true
	_ = p.control(syscall.EPOLL_CTL_MOD, c) // it was added, and is there until it is closed
}

func (p *poller) control(op int, c *Conn) error {
	event := syscall.EpollEvent{Events: syscall.EPOLLONESHOT, Fd: c.polled.number}
	if c.armed {
		event.Events |= syscall.EPOLLIN | syscall.EPOLLRDHUP
	}
	return syscall.EpollCtl(p.epoll, op, int(c.polled.fd), &event)
}

// forget takes out a connection that is about to be closed: another one may get its descriptor.
func (p *poller) forget(c *Conn) {
	if c.polled.in {
		c.polled.in, c.armed = false, false
		p.conns[c.polled.number] = nil
		p.free = append(p.free, c.polled.number)
	}
}

// run reads what has come until the poller is closed.
func (p *poller) run() {
	onNews := p.news
	for p.raw.Read(onNews) == nil && p.failed == nil {
		for i := range p.events[:p.count] {
			p.read(p.events[i].Fd)
		}
	}
}

// news asks the system which connections have something to read.
func (p *poller) news(fd uintptr) bool {
	n, err := syscall.EpollWait(int(fd), p.events[:], 0)
	if err == syscall.EINTR {
		n, err = 0, nil
	}
	p.count, p.failed = max(n, 0), err
	return n > 0 || err != nil
}

// read reads a connection, by its number. The news may be of one that is closed by now, and another may have its number:
// then there is nothing to read, and it stays armed.
func (p *poller) read(number int32) {
	p.hub.mu.Lock()
	c := p.conns[number]
	if c == nil || !c.armed {
		p.hub.mu.Unlock()
		return
	}
	c.armed = false
	p.hub.mu.Unlock()
	c.pull()
}
