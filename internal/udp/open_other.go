//go:build !linux

package udp

import (
	"net"
	"net/netip"
)

// recvVectors is empty: package net reads one datagram at a time.
type recvVectors struct{}

// open opens the socket that e describes with package net.
func open(e endpoints, c Config) (*Socket, error) {
	if e.members > 1 {
		return nil, ErrNoGroup
	}
	conn, err := openUDP(e)
	if err != nil {
		return nil, err
	}
	// The system does not say what it granted. The size that was asked for is reported
	// unless it was refused.
	recv, send := 0, 0
	if c.RecvBuffer > 0 && conn.SetReadBuffer(c.RecvBuffer) == nil {
		recv = c.RecvBuffer
	}
	if c.SendBuffer > 0 && conn.SetWriteBuffer(c.SendBuffer) == nil {
		send = c.SendBuffer
	}
	counts := new(counters)
	local := Canonical(conn.LocalAddr().(*net.UDPAddr).AddrPort())
	return newSocket(newPlain(withFaults(conn, c), c, e.remote, recv, send, counts), c, local, e.remote, counts), nil
}

func openUDP(e endpoints) (*net.UDPConn, error) {
	if e.remote.IsValid() {
		return net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(e.remote))
	}
	if e.local.Addr() == netip.IPv6Unspecified() {
		return net.ListenUDP("udp", &net.UDPAddr{Port: int(e.local.Port())})
	}
	return net.ListenUDP("udp", net.UDPAddrFromAddrPort(e.local))
}
