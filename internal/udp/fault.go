package udp

import (
	"net"
	"net/netip"
	"os"
	"syscall"
)

// faultyConn is a connection of package net with the faults of Config.Faults.
type faultyConn struct {
	packetConn
	draw func(sending bool) syscall.Errno
}

// withFaults puts Config.Faults, if there are any, between us and package net.
func withFaults(conn packetConn, c Config) packetConn {
	if c.Faults == nil {
		return conn
	}
	return &faultyConn{conn, c.Faults}
}

func (c *faultyConn) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	if errno := c.draw(false); errno != 0 {
		return 0, netip.AddrPort{}, drawnError("read", "recvfrom", errno)
	}
	return c.packetConn.ReadFromUDPAddrPort(b)
}

func (c *faultyConn) WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error) {
	if errno := c.draw(true); errno != 0 {
		return 0, drawnError("write", "sendto", errno)
	}
	return c.packetConn.WriteToUDPAddrPort(b, to)
}

func (c *faultyConn) Write(b []byte) (int, error) {
	if errno := c.draw(true); errno != 0 {
		return 0, drawnError("write", "send", errno)
	}
	return c.packetConn.Write(b)
}

// drawnError is errno as package net wraps it.
func drawnError(op, call string, errno syscall.Errno) error {
	return &net.OpError{Op: op, Net: "udp", Err: os.NewSyscallError(call, errno)}
}
