package main

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// tcpRoom is the floor of W4 for those who come over TCP: in each tick a write to each client of as many bytes as ours over WebSocket, and
// a read of what comes back. One goroutine that waits in epoll reads all.
var tcpRoom = &Room{Listen: listenTCPRoom, Join: joinTCPRoom}

const (
	wsHeadDown = 4 // bytes of the head of a frame of more than 125
	wsHeadUp   = 6 // with a mask
)

type tcpRoomServer struct {
	listener net.Listener
	epoll    int
	msg      []byte
	sent     atomic.Uint64

	mu    sync.Mutex
	known []int
}

func listenTCPRoom(objects int) (RoomServer, error) {
	l, err := net.Listen("tcp4", loopback)
	if err != nil {
		return nil, err
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	r := &tcpRoomServer{listener: l, epoll: epoll, msg: make([]byte, wsHeadDown+udpRoomHead+objects*udpRoomObject)}
	go r.accept()
	go r.read()
	return r, nil
}

func (r *tcpRoomServer) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err != nil {
			continue
		}
		fd := -1
		_ = raw.Control(func(old uintptr) { fd, _ = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
		c.Close()
		_ = unix.EpollCtl(r.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
		r.mu.Lock()
		r.known = append(r.known, fd)
		r.mu.Unlock()
	}
}

func (r *tcpRoomServer) read() {
	var events [256]unix.EpollEvent
	var b [2048]byte
	for {
		n, err := unix.EpollWait(r.epoll, events[:], -1)
		if err != nil && err != unix.EINTR {
			return
		}
		for _, ev := range events[:max(n, 0)] {
			if n, _ := unix.Read(int(ev.Fd), b[:]); n <= 0 {
				_ = unix.EpollCtl(r.epoll, unix.EPOLL_CTL_DEL, int(ev.Fd), nil)
			}
		}
	}
}

func (r *tcpRoomServer) Tick(place func(object int) [8]byte) error {
	for i := 0; wsHeadDown+udpRoomHead+i*udpRoomObject < len(r.msg); i++ {
		at := place(i)
		copy(r.msg[wsHeadDown+udpRoomHead+i*udpRoomObject:], at[:])
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fd := range r.known {
		if n, err := unix.Write(fd, r.msg); err == nil {
			r.sent.Add(uint64(n))
		}
	}
	return nil
}

func (r *tcpRoomServer) Addr() netip.AddrPort { return addrOf(r.listener.Addr()) }
func (r *tcpRoomServer) Bytes() uint64        { return r.sent.Load() }
func (r *tcpRoomServer) Close() error         { return r.listener.Close() }

// tcpRoomMember answers each message with as many bytes as an ack over WebSocket has.
type tcpRoomMember struct {
	fd   int
	have int
	at   [8]byte
}

func joinTCPRoom(_ time.Time, addr netip.AddrPort) (Member, error) {
	fd, err := dialStream(addr)
	return &tcpRoomMember{fd: fd}, err
}

func (m *tcpRoomMember) Sockets() []int { return []int{m.fd} }
func (m *tcpRoomMember) Ready() bool    { return true }
func (m *tcpRoomMember) Send(time.Time, []byte) (next time.Time, err error) {
	return next, nil
}

func (m *tcpRoomMember) Turn(_ time.Time, take func([]byte)) (next time.Time, err error) {
	const size = wsHeadDown + udpRoomHead + roomObjects*udpRoomObject
	n, err := unix.Read(m.fd, scratch[:])
	if err != nil {
		return next, nil // there is nothing
	}
	for b := scratch[:n]; len(b) > 0; {
		k := min(len(b), size-m.have)
		if first := wsHeadDown + udpRoomHead; m.have == 0 && k >= first+8 {
			copy(m.at[:], b[first:])
		}
		b = b[k:]
		if m.have += k; m.have == size {
			m.have = 0
			take(m.at[:])
			var answer [wsHeadUp + 3]byte
			_, _ = unix.Write(m.fd, answer[:])
		}
	}
	return next, nil
}
