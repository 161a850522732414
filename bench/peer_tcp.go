package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
)

var tcpPeers = []Peer{{
	Name: "tcp", Settings: "TCP_NODELAY, a write a message, a 2-byte size before each", Reliable: true, Ordered: true,
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
}}

type listener struct{ net.Listener }

func (l listener) Addr() netip.AddrPort { return addrOf(l.Listener.Addr()) }

// streamLink sends messages over a stream, each behind its size, in one write.
type streamLink struct {
	mu  sync.Mutex
	w   io.Writer
	c   io.Closer
	buf []byte
}

func (l *streamLink) Send(b []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(binary.BigEndian.AppendUint16(l.buf[:0], uint16(len(b))), b...)
	_, err := l.w.Write(l.buf)
	return err
}

func (l *streamLink) Close() error { return l.c.Close() }

// readFrames reads messages until the stream ends.
func readFrames(r io.Reader, take func([]byte)) {
	in := bufio.NewReaderSize(r, 32<<10)
	buf := make([]byte, 65536)
	for {
		if _, err := io.ReadFull(in, buf[:2]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(buf))
		if _, err := io.ReadFull(in, buf[:n]); err != nil {
			return
		}
		take(buf[:n])
	}
}
