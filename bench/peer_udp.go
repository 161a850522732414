package main

import (
	"context"
	"net"
	"net/netip"
)

var udpPeers = []Peer{{
	Name: "udp", Settings: "one system call a datagram",
	Listen: func(take func(Link, []byte)) (Server, error) {
		conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(loopback)))
		if err != nil {
			return nil, err
		}
		conn.SetReadBuffer(8 << 20)
		conn.SetWriteBuffer(8 << 20)
		go func() {
			buf := make([]byte, 65536)
			for {
				n, from, err := conn.ReadFromUDPAddrPort(buf)
				if err != nil {
					return
				}
				take(udpBack{conn, from}, buf[:n])
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
}}

type udpServer struct{ *net.UDPConn }

func (s udpServer) Addr() netip.AddrPort { return addrOf(s.LocalAddr()) }

// udpBack answers whoever sent.
type udpBack struct {
	conn *net.UDPConn
	to   netip.AddrPort
}

func (l udpBack) Send(b []byte) error {
	_, err := l.conn.WriteToUDPAddrPort(b, l.to)
	return err
}
func (udpBack) Close() error { return nil }

type udpLink struct{ *net.UDPConn }

func (l udpLink) Send(b []byte) error {
	_, err := l.Write(b)
	return err
}
