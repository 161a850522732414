package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

var tcpPeers = []Peer{tcpPeer, buffered(tcpPeer), {
	Name: "tcp room", Settings: "a write for each client in each tick, epoll: the floor of those over TCP", Only: true, TCP: true, Room: tcpRoom,
}}

// rushWrite is how much a stream is given in one write by a sender with a buffer before it.
const rushWrite = 64 << 10

// buffered is a stream with a buffer before it, as programs have that send messages as fast as they go.
func buffered(p Peer) Peer {
	p.Name, p.Settings, p.Gather, p.Crowd = p.Name+" buffered", "the same, a write for 64 KiB of messages", rushWrite, false
	return p
}

var tcpPeer = Peer{
	Name: "tcp", Settings: "TCP_NODELAY, a write a message, a 2-byte size before each", Reliable: true, Ordered: true, Crowd: true, TCP: true,
	Listen: func(take func(Link, []byte)) (Server, error) {
		l, err := net.Listen("tcp4", loopback)
		if err != nil {
			return nil, err
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				link := &streamLink{w: c, c: c}
				go readFrames(c, func(b []byte) { take(link, b) })
			}
		}()
		return listener{l}, nil
	},
	Dial: func(ctx context.Context, addr netip.AddrPort, take func([]byte)) (Link, error) {
		c, err := new(net.Dialer).DialContext(ctx, "tcp4", addr.String())
		if err != nil {
			return nil, err
		}
		go readFrames(c, take)
		return &streamLink{w: c, c: c}, nil
	},
	Join: func(_ time.Time, addr netip.AddrPort) (Member, error) {
		fd, err := dialStream(addr)
		return &streamMember{fd: fd}, err
	},
}

type listener struct{ net.Listener }

func (l listener) Addr() netip.AddrPort { return addrOf(l.Listener.Addr()) }

// streamLink sends messages over a stream, each behind its size, in one write; with gather set it writes when that many
// bytes are there.
type streamLink struct {
	mu     sync.Mutex
	w      io.Writer
	c      io.Closer
	buf    []byte
	gather int
}

func (l *streamLink) Send(b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(binary.BigEndian.AppendUint16(l.buf, uint16(len(b))), b...)
	if len(l.buf) < l.gather {
		return nil
	}
	return l.flush()
}

// flush writes what was gathered.
func (l *streamLink) flush() error {
	_, err := l.w.Write(l.buf)
	l.buf = l.buf[:0]
	return err
}

func (l *streamLink) Close() error { return l.c.Close() }

// frameBuffer is how much of a stream is read at once: several messages, if they came. A
// program with thousands of streams has it small, one with a single fast one large.
var frameBuffer = largeFrameBuffer

const (
	largeFrameBuffer = 64 << 10
	smallFrameBuffer = 2 << 10
)

// readFrames reads messages until the stream ends.
func readFrames(r io.Reader, take func([]byte)) {
	in := bufio.NewReaderSize(r, frameBuffer)
	for {
		size, err := in.Peek(2)
		if err != nil {
			return
		}
		n := 2 + int(binary.BigEndian.Uint16(size))
		frame, err := in.Peek(n)
		if err != nil {
			return
		}
		take(frame[2:])
		in.Discard(n) // they are there
	}
}

// dialStream opens a TCP connection without Nagle's delay, whose calls do not block.
func dialStream(to netip.AddrPort) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
	}
	if err == nil {
		err = errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), unix.SetNonblock(fd, true))
	}
	if err != nil {
		return -1, fmt.Errorf("a connection of a client: %w", err)
	}
	return fd, nil
}

// streamMember is a light client over TCP.
type streamMember struct {
	fd   int
	part []byte // of a message, whose rest is on its way
}

func (m *streamMember) Sockets() []int { return []int{m.fd} }
func (m *streamMember) Ready() bool    { return true }

func (m *streamMember) Turn(_ time.Time, take func([]byte)) (next time.Time, err error) {
	for {
		n, err := unix.Read(m.fd, scratch[:])
		if err == unix.EAGAIN {
			return next, nil
		}
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return next, err
		}
		m.part = append(m.part, scratch[:n]...)
		for len(m.part) >= 2 && len(m.part) >= 2+int(binary.BigEndian.Uint16(m.part)) {
			n := 2 + int(binary.BigEndian.Uint16(m.part))
			take(m.part[2:n])
			m.part = append(m.part[:0], m.part[n:]...)
		}
	}
}

func (m *streamMember) Send(_ time.Time, b []byte) (next time.Time, err error) {
	frame := append(binary.BigEndian.AppendUint16(scratch[:0], uint16(len(b))), b...)
	n, err := unix.Write(m.fd, frame)
	if err == nil && n < len(frame) {
		err = io.ErrShortWrite
	}
	return next, err
}
