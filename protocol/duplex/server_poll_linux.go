package duplex

import (
	"os"
	"syscall"
)

// poller reads the mains of a server, all with one goroutine: one for each would be 2.5 KiB of stack and its
// bookkeeping for a main that is silent most of the time. It asks the system with an epoll of its own, which the
// runtime's waits for as for any other file.
//
// A main is armed when the loop has taken what came before, and the system tells of it once: so it has at most one piece
// here, as every other.
type poller struct {
	hub   *hub
	epoll int
	file  *os.File // the same
	raw   syscall.RawConn

	// Under the hub's lock.
	lines []*line // by the number that the system knows them by
	free  []int32

	// Owned by its goroutine.
	events  [64]syscall.EpollEvent
	count   int
	failed  error
	onNews  func(fd uintptr) bool
	onBytes func(fd uintptr) bool
	piece   *[readBytes]byte
	n       int
	err     error
}

// polled is what a poller knows of a line.
type polled struct {
	fd     int32
	number int32
	armed  bool // under the hub's lock, as whether it is among the poller's lines
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
	p := &poller{hub: h, epoll: epoll, file: os.NewFile(uintptr(epoll), "epoll of mains")}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		p.file.Close()
		return nil
	}
	p.onNews, p.onBytes = p.news, p.bytes
	return p
}

// close ends the goroutine.
func (p *poller) close() { _ = p.file.Close() } // a second time changes nothing

// add begins to read a line, and reports whether that is possible.
func (p *poller) add(l *line) bool {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	if n := len(p.free); n > 0 {
		l.polled.number, p.free = p.free[n-1], p.free[:n-1]
	} else {
		l.polled.number = int32(len(p.lines))
		p.lines = append(p.lines, nil)
	}
	p.lines[l.polled.number], l.polled.armed = l, true
	var failed error
	err := l.raw.Control(func(fd uintptr) {
		l.polled.fd = int32(fd)
		failed = p.control(syscall.EPOLL_CTL_ADD, l)
	})
	if err != nil || failed != nil {
		p.forget(l)
		return false
	}
	return true
}

// arm has the system tell when there is something to read. Only the loop calls it, for a line that is not closed.
func (p *poller) arm(l *line) {
	p.hub.mu.Lock()
	l.polled.armed = true
	_ = p.control(syscall.EPOLL_CTL_MOD, l) // it was added, and is there until it is closed
	p.hub.mu.Unlock()
}

func (p *poller) control(op int, l *line) error {
	return syscall.EpollCtl(p.epoll, op, int(l.polled.fd), &syscall.EpollEvent{
		Events: syscall.EPOLLIN | syscall.EPOLLRDHUP | syscall.EPOLLONESHOT, Fd: l.polled.number,
	})
}

// remove takes out a line that is about to be closed: its descriptor may be another's then.
func (p *poller) remove(l *line) {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	p.forget(l)
}

func (p *poller) forget(l *line) {
	l.polled.armed = false
	p.lines[l.polled.number] = nil
	p.free = append(p.free, l.polled.number)
}

// run reads whatever has come until the poller is closed.
func (p *poller) run() {
	for p.raw.Read(p.onNews) == nil && p.failed == nil {
		for i := range p.events[:p.count] {
			p.read(p.events[i].Fd)
		}
	}
}

// news asks the system which lines there is something of.
func (p *poller) news(fd uintptr) bool {
	n, err := syscall.EpollWait(int(fd), p.events[:], 0)
	if err == syscall.EINTR {
		n, err = 0, nil
	}
	p.count, p.failed = max(n, 0), err
	return n > 0 || err != nil
}

// read reads a line, by its number. The news may be of one that is closed by now, and another may have its number:
// then there is nothing to read, and it stays armed.
func (p *poller) read(number int32) {
	p.hub.mu.Lock()
	l := p.lines[number]
	if l == nil || !l.polled.armed {
		p.hub.mu.Unlock()
		return
	}
	l.polled.armed = false
	p.hub.mu.Unlock()
	p.piece = p.hub.takePiece()
	if err := l.raw.Read(p.onBytes); err != nil {
		p.n, p.err = 0, err
	}
	if p.err == syscall.EAGAIN {
		p.hub.reads.Put(p.piece)
		p.rearm(l)
		return
	}
	l.piece = p.piece
	l.leave(p.n, readError(p.n, p.err))
}

func (p *poller) bytes(fd uintptr) bool {
	p.n, p.err = readFD(fd, p.piece[:])
	return true
}

// rearm arms a line again of which there was nothing to read.
func (p *poller) rearm(l *line) {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	if p.lines[l.polled.number] == l { // so it is not closed
		l.polled.armed = true
		_ = p.control(syscall.EPOLL_CTL_MOD, l)
	}
}
