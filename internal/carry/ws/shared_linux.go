package ws

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"parley/internal/carry"
	"parley/internal/gather"
)

// poller reads all connections of TCP with one goroutine, which ends with the last of them. It has an epoll instance of its own, and the runtime
// waits for that as for any other file. The connections are not known to the runtime, which would look at each that has news. The zero value is
// usable.
type poller struct {
	mu    sync.Mutex
	file  *os.File // of the epoll instance; nil while there is no goroutine
	epoll int
	slots []*shared // by the number that the system knows them by
	free  []int32
	open  int
	late  map[*shared]struct{} // those with a time limit
	next  time.Time            // when they are looked at next; zero: there are none

	// Of the goroutine.
	events [roundConns]unix.EpollEvent
	news   [roundConns]*shared
	in     [readBytes]byte
	to     carry.Arrivals
	gather gather.Gatherer
	woken  bool
}

// shared is a wire that is read by a poller.
type shared struct {
	poller *poller
	slot   int32

	early    []byte // what came with the handshake
	patience time.Duration

	mu     sync.Mutex
	fd     int              // -1: closed. The poller's goroutine closes it, and no other
	room   *[writeRoom]byte // of what is left of a write; nil: nobody waits
	left   []byte
	until  time.Time // when the connection is closed; zero: that is not known
	ending bool      // until stays

	// Of the poller's goroutine.
	conn    *conn
	deaf    bool // what comes is dropped
	dropped int  // bytes of that
}

// take returns a wire for a connection of TCP, or nil if the system has none to give. run starts a goroutine.
func (p *poller) take(c *shaken, run func(func())) wire {
	tcp, ok := c.Conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	fd := -1
	if e := raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) }); e != nil || err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil && !p.begin(run) {
		unix.Close(fd)
		return nil
	}
	x := &shared{poller: p, early: c.early, patience: c.patience, fd: fd, slot: int32(len(p.slots))}
	if n := len(p.free); n > 0 {
		x.slot = p.free[n-1]
	}
	if x.control(unix.EPOLL_CTL_ADD, unix.EPOLLONESHOT) != nil {
		unix.Close(fd)
		return nil
	}
	if n := len(p.free); n > 0 {
		p.free = p.free[:n-1]
	} else {
		p.slots = append(p.slots, nil)
	}
	p.open++
	tcp.Close() // the socket is that of the new descriptor
	return x
}

// begin starts the goroutine. p.mu is held.
func (p *poller) begin(run func(func())) bool {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	if err := unix.SetNonblock(epoll, true); err != nil { // so that the runtime waits for it
		unix.Close(epoll)
		return false
	}
	file := os.NewFile(uintptr(epoll), "epoll of sessions")
	raw, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return false
	}
	p.file, p.epoll, p.late, p.gather = file, epoll, map[*shared]struct{}{}, gather.Gatherer{Span: gather.Default}
	run(func() { p.run(raw) })
	return true
}

// run reads until there is no connection.
func (p *poller) run(raw syscall.RawConn) {
	onNews := p.turn
	for {
		err := raw.Read(onNews)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			panic("ws: the poller's own file is closed by nobody else: " + err.Error())
		}
		p.expire(time.Now())
		p.mu.Lock()
		if p.open == 0 {
			p.file.Close()
			p.file = nil
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		p.woken = false
		runtime.Gosched()
	}
}

// turn reads what has come. It returns false to wait for more, when nothing is left that the system has reported: it reports news of the poller
// as a whole, once.
func (p *poller) turn(uintptr) bool {
	gathers := p.woken && p.gather.Due(time.Now())
	p.woken = true
	for range maxRounds {
		if gathers {
			gather.Pause(p.gather.Span)
		}
		n, err := unix.EpollWait(p.epoll, p.events[:], 0)
		if err != nil {
			n = 0
		}
		more := p.round(p.events[:max(n, 0)]) || n == len(p.events)
		gathers = gathers && p.gather.Brought(n, n)
		switch {
		case n <= 0:
			return p.isIdle()
		case !more && !gathers && n == 1:
			// What came since is reported: a look that finds nothing costs less than being woken, but not than nothing.
			return p.isIdle()
		}
		gathers = gathers && !more
	}
	return true // run calls again, when others have had the P
}

func (p *poller) isIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open == 0
}

// round reads connections that have news, and reports whether one has more.
func (p *poller) round(events []unix.EpollEvent) (more bool) {
	now := time.Now()
	p.mu.Lock()
	for i := range events {
		p.news[i] = p.slots[events[i].Fd]
	}
	late := !p.next.IsZero() && now.After(p.next)
	p.mu.Unlock()
	for i := range events {
		x, what := p.news[i], events[i].Events
		p.news[i] = nil
		if x == nil {
			continue // not started, or closed since
		}
		if what&unix.EPOLLOUT != 0 {
			x.writable()
		}
		if what&^unix.EPOLLOUT != 0 && x.fd >= 0 {
			more = p.read(now, x, what&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0) || more
		}
	}
	p.to.Flush()
	if late {
		p.expire(now)
	}
	return more
}

// read reads one connection. If it ends, its end is behind what can be read.
func (p *poller) read(now time.Time, x *shared, ends bool) (more bool) {
	n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(x.fd), uintptr(unsafe.Pointer(&p.in)), uintptr(len(p.in)))
	switch {
	case errno == unix.EAGAIN:
		return false
	case errno == unix.EINTR:
		return true
	case errno != 0 || n == 0:
		x.close()
		return false
	case !x.deaf:
		x.deaf = !x.conn.hear(now, p.in[:n], &p.to)
	default:
		if x.dropped += int(n); x.dropped > maxLinger {
			x.close()
			return false
		}
	}
	return ends || int(n) == len(p.in)
}

// expire ends connections whose time is over.
func (p *poller) expire(now time.Time) {
	var over []*shared
	p.mu.Lock()
	for x := range p.late {
		x.mu.Lock()
		switch {
		case x.until.IsZero() || x.fd < 0:
			delete(p.late, x)
		case !now.Before(x.until):
			if over = append(over, x); !x.ending {
				x.until = time.Time{}
			}
			delete(p.late, x)
		}
		x.mu.Unlock()
	}
	p.next = time.Time{}
	if len(p.late) > 0 {
		p.next = now.Add(lateEvery)
	}
	_ = p.file.SetReadDeadline(p.next)
	p.mu.Unlock()
	for _, x := range over {
		if x.ends() {
			x.close()
		} else {
			x.conn.session.End(carry.Stuck)
		}
	}
}

func (x *shared) ends() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ending
}

// watch keeps the time limit of a connection.
func (p *poller) watch(x *shared) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.late[x]; ok || p.file == nil {
		return
	}
	if p.late[x] = struct{}{}; len(p.late) == 1 {
		p.next = time.Now().Add(lateEvery)
		_ = p.file.SetReadDeadline(p.next)
	}
}

// start is that of wire, as are the methods below, up to cut.
func (x *shared) start(c *conn) {
	x.conn = c
	if len(x.early) > 0 {
		var to carry.Arrivals
		x.deaf = !c.hear(time.Now(), x.early, &to)
		to.Flush()
		x.early = nil
	}
	x.poller.mu.Lock()
	x.poller.slots[x.slot] = x
	x.poller.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	_ = x.control(unix.EPOLL_CTL_MOD, readable) // it was added, and is there until it is closed
}

// control says what the system is to report. x.mu is held.
func (x *shared) control(op int, what uint32) error {
	return unix.EpollCtl(x.poller.epoll, op, x.fd, &unix.EpollEvent{Events: what, Fd: x.slot})
}

const readable = unix.EPOLLIN | unix.EPOLLRDHUP

func (x *shared) write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for x.fd >= 0 {
		n, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(x.fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EAGAIN:
			return 0, nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
	return 0, net.ErrClosed
}

func (x *shared) wait(room *[writeRoom]byte, b []byte) {
	x.mu.Lock()
	if x.fd < 0 {
		x.mu.Unlock()
		writeBuffers.Put(room)
		return
	}
	x.room, x.left = room, b
	if !x.ending {
		x.until = time.Now().Add(x.patience)
	}
	_ = x.control(unix.EPOLL_CTL_MOD, readable|unix.EPOLLOUT)
	x.mu.Unlock()
	x.poller.watch(x)
}

// writable goes on with a write.
func (x *shared) writable() {
	x.mu.Lock()
	room, b := x.room, x.left
	x.room, x.left = nil, nil
	if !x.ending {
		x.until = time.Time{}
	}
	_ = x.control(unix.EPOLL_CTL_MOD, readable)
	x.mu.Unlock()
	if room != nil {
		x.conn.writeOn(room, b)
	}
}

func (x *shared) half() { x.shutdown(unix.SHUT_WR) }
func (x *shared) cut()  { x.shutdown(unix.SHUT_RDWR) } // the poller sees the end, and closes

func (x *shared) shutdown(how int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fd >= 0 {
		_ = unix.Shutdown(x.fd, how)
	}
}

func (x *shared) hang() {
	x.mu.Lock()
	if !x.ending {
		x.until, x.ending = time.Now().Add(goodbyeTime), true
	}
	x.mu.Unlock()
	x.poller.watch(x)
}

// close closes the connection, and the session.
func (x *shared) close() {
	x.mu.Lock()
	unix.Close(x.fd)
	x.fd = -1
	room := x.room
	x.room, x.left = nil, nil
	x.mu.Unlock()
	if room != nil {
		writeBuffers.Put(room)
	}
	x.conn.forget()
	p := x.poller
	p.mu.Lock()
	p.slots[x.slot] = nil
	p.free = append(p.free, x.slot)
	p.open--
	p.mu.Unlock()
	x.conn.session.Close()
}
