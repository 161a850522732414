package wt_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/quicvarint"
)

// What a hostile client has: sockets whose packets it can hold back, and HTTP/3 that it writes by hand.

// valve is a socket that counts, keeps and holds back packets. quic-go sees no more of it than a PacketConn.
type valve struct {
	net.PacketConn

	mu   sync.Mutex
	sent [][]byte // what was sent, while keep
	keep bool
	hold int  // how many packets still go out; negative: all
	shy  bool // nothing goes out behind a packet that proves the address
	deaf bool // nothing comes in
}

func (v *valve) WriteTo(b []byte, to net.Addr) (int, error) {
	v.mu.Lock()
	if v.keep {
		v.sent = append(v.sent, append([]byte(nil), b...))
	}
	held := v.hold == 0
	if v.shy && tokenOf(b) != 0 {
		v.hold = 0
		held = held || tokenOf(b) < 0
	}
	if v.hold > 0 {
		v.hold--
	}
	v.mu.Unlock()
	if held {
		return len(b), nil
	}
	return v.PacketConn.WriteTo(b, to)
}

func (v *valve) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := v.PacketConn.ReadFrom(b)
		v.mu.Lock()
		deaf := v.deaf
		v.mu.Unlock()
		if err != nil || !deaf {
			return n, from, err
		}
	}
}

func (v *valve) turn(change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change()
}

// stranger returns one of many addresses of the loopback network. Other systems than Linux have but one.
func stranger(i int) netip.Addr {
	if runtime.GOOS != "linux" {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.AddrFrom4([4]byte{127, 9, byte(i >> 8), byte(i)})
}

func socketAt(t testing.TB, from netip.Addr) *valve {
	t.Helper()
	c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &valve{PacketConn: c, hold: -1}
}

// raw opens a connection of QUIC through a socket.
func raw(ctx context.Context, t testing.TB, v *valve, to netip.AddrPort) (*quic.Conn, error) {
	t.Helper()
	transport := &quic.Transport{Conn: v}
	t.Cleanup(func() { transport.Close() })
	return dialThrough(ctx, transport, to)
}

// rawConn is raw without a test around it.
func rawConn(ctx context.Context, v *valve, to netip.AddrPort) (*quic.Conn, error) {
	return dialThrough(ctx, &quic.Transport{Conn: v}, to)
}

func dialThrough(ctx context.Context, transport *quic.Transport, to netip.AddrPort) (*quic.Conn, error) {
	secure := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h3"}} // it attacks whoever is there
	return transport.Dial(ctx, net.UDPAddrFromAddrPort(to), secure, quicConfig())
}

// raw opens a connection that must be let in.
func (g *ground) raw(from netip.Addr) (*quic.Conn, *valve) {
	g.t.Helper()
	v := socketAt(g.t, from)
	ctx, cancel := context.WithTimeout(g.t.Context(), time.Minute)
	defer cancel()
	c, err := raw(ctx, g.t, v, g.server.Addr())
	if err != nil {
		g.t.Fatal(err)
	}
	return c, v
}

// frame returns a frame of HTTP/3.
func frame(kind uint64, body []byte) []byte {
	b := quicvarint.Append(quicvarint.Append(nil, kind), uint64(len(body)))
	return append(b, body...)
}

// connect returns the request for a session: a HEADERS frame whose fields are literals.
func connect(path string) []byte {
	b := []byte{0, 0}
	number := func(first byte, bits, n int) {
		most := 1<<bits - 1
		if n < most {
			b = append(b, first|byte(n))
			return
		}
		b = append(b, first|byte(most))
		for n -= most; n >= 128; n >>= 7 {
			b = append(b, byte(n)|128)
		}
		b = append(b, byte(n))
	}
	for _, field := range [][2]string{{":method", "CONNECT"}, {":scheme", "https"}, {":authority", "127.0.0.1"}, {":path", path}, {":protocol", "webtransport"}} {
		number(0x20, 3, len(field[0]))
		b = append(b, field[0]...)
		number(0, 7, len(field[1]))
		b = append(b, field[1]...)
	}
	return frame(1, b)
}

// settings returns the control stream of a client of WebTransport.
func settings() []byte {
	var b []byte
	for _, pair := range [][2]uint64{{0x08, 1}, {0x33, 1}, {0x2b603742, 1}, {0x14e9cd29, 1}} {
		b = quicvarint.Append(quicvarint.Append(b, pair[0]), pair[1])
	}
	return append([]byte{0}, frame(4, b)...)
}
