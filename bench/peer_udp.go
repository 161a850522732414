package main

import (
	"context"
	"net"
	"net/netip"
	"time"
)

var udpPeers = []Peer{{
	Name: "udp", Settings: "one system call a datagram, net.UDPConn", Crowd: true,
	Listen: func(take func(Link, []byte)) (Server, error) {
		conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(loopback)))
		if err != nil {
			return nil, err
		}
		conn.SetReadBuffer(udpBuffer) // the system may grant less
		conn.SetWriteBuffer(udpBuffer)
		go func() {
			link := &udpBack{conn: conn}
			buf := make([]byte, 65536)
			for {
				var n int
				if n, link.to, err = conn.ReadFromUDPAddrPort(buf); err != nil {
					return
				}
				take(link, buf[:n])
			}
		}()
		return udpServer{conn}, nil
	},
	Dial: func(_ context.Context, addr netip.AddrPort, take func([]byte)) (Link, error) {
		conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(addr))
		if err != nil {
			return nil, err
		}
		go func() {
			buf := make([]byte, 65536)
			for {
				n, err := conn.Read(buf)
				if err != nil {
					return
				}
				take(buf[:n])
			}
		}()
		return udpLink{conn}, nil
	},
	Join: joinUDP,
}}

// udpBuffer is what a server asks of the kernel, as ours do.
const udpBuffer = 4 << 20

type udpServer struct{ *net.UDPConn }

func (s udpServer) Addr() netip.AddrPort { return addrOf(s.LocalAddr()) }

// udpBack answers whoever sent.
type udpBack struct {
	conn *net.UDPConn
	to   netip.AddrPort
}

func (l *udpBack) Send(b []byte) error {
	_, err := l.conn.WriteToUDPAddrPort(b, l.to)
	return err
}
func (*udpBack) Close() error { return nil }

type udpLink struct{ *net.UDPConn }

func (l udpLink) Send(b []byte) error {
	_, err := l.Write(b)
	return err
}

// bare is the core of a light client that speaks no protocol: what comes is a message.
type bare struct {
	come [][]byte // buffers that are used again
	n    int
	out  []byte
}

func joinUDP(_ time.Time, addr netip.AddrPort) (Member, error) {
	b := new(bare)
	return newDatagramMember(addr, endpoint{
		core:  b,
		ready: func() bool { return true },
		send: func(_ time.Time, msg []byte) error {
			b.out = append(b.out[:0], msg...)
			return nil
		},
		poll: func(take func([]byte)) error {
			for _, msg := range b.come[:b.n] {
				take(msg)
			}
			b.n = 0
			return nil
		},
	})
}

func (b *bare) HandleDatagram(_ time.Time, _ netip.AddrPort, msg []byte) {
	if b.n == len(b.come) {
		b.come = append(b.come, nil)
	}
	b.come[b.n] = append(b.come[b.n][:0], msg...)
	b.n++
}

func (b *bare) HandleTimeout(time.Time)        {}
func (b *bare) NextTimeout() (time.Time, bool) { return time.Time{}, false }

func (b *bare) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	n := copy(buf, b.out)
	b.out = b.out[:0]
	return n, netip.AddrPort{}, n > 0
}
