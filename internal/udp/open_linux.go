package udp

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// open opens the socket that e describes. The descriptor is made here and not by package
// net, because the deadline errors of net allocate and those of os do not.
func open(e endpoints, c Config) (*Socket, error) {
	fd, f, err := openFD(e, c)
	if err != nil {
		return nil, err
	}
	local, err := localAddr(fd)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	counts := new(counters)
	var d driver
	if c.Plain {
		d, err = openPlain(fd, c, e.remote, counts)
	} else {
		d, err = newBatched(fd, f, c, e.remote, counts)
	}
	if err != nil {
		return nil, err
	}
	return newSocket(d, c, local, e.remote, counts), nil
}

// openFD returns a descriptor that is set up and bound or connected.
func openFD(e endpoints, c Config) (int, family, error) {
	ip := e.local.Addr()
	if e.remote.IsValid() {
		ip = e.remote.Addr()
	}
	if ip.Is4() {
		fd, err := openFamily(family4, e, c)
		return fd, family4, err
	}
	fd, err := openFamily(family6, e, c)
	if err != nil && !e.remote.IsValid() && ip.IsUnspecified() && (err == unix.EAFNOSUPPORT || err == unix.EADDRNOTAVAIL) {
		// All addresses were asked for, and this machine has no IPv6.
		e.local = netip.AddrPortFrom(netip.IPv4Unspecified(), e.local.Port())
		fd, err = openFamily(family4, e, c)
		return fd, family4, err
	}
	return fd, family6, err
}

func openFamily(f family, e endpoints, c Config) (int, error) {
	fd, err := unix.Socket(int(f), unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return -1, err
	}
	if err = setOptions(fd, f, e, c); err == nil {
		if e.remote.IsValid() {
			err = nameSocket(unix.SYS_CONNECT, fd, f, e.remote)
		} else {
			err = bindMember(fd, f, e)
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// bindMember binds a socket of a group. A group's first member is bound before
// SO_REUSEPORT is set, so that the kernel refuses a port that is taken, and replaces port
// 0 by a free one. With the option set, the kernel would let it share a port with other
// sockets of the same user.
func bindMember(fd int, f family, e endpoints) error {
	share := func() error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) }
	if e.member > 0 {
		if err := share(); err != nil {
			return err
		}
	}
	if err := nameSocket(unix.SYS_BIND, fd, f, e.local); err != nil {
		return err
	}
	if e.members > 1 && e.member == 0 {
		return share()
	}
	return nil
}

// nameSocket is bind or connect.
func nameSocket(call uintptr, fd int, f family, to netip.AddrPort) error {
	var sa sockaddr
	size := sa.encode(f, to)
	if size == 0 {
		return &addressError{"a link-local address needs its interface, as in fe80::1%eth0"}
	}
	if _, _, errno := syscall.Syscall(call, uintptr(fd), uintptr(unsafe.Pointer(&sa)), uintptr(size)); errno != 0 {
		return errno
	}
	return nil
}

func localAddr(fd int) (netip.AddrPort, error) {
	var sa sockaddr
	size := uint32(unsafe.Sizeof(sa))
	_, _, errno := syscall.Syscall(unix.SYS_GETSOCKNAME, uintptr(fd), uintptr(unsafe.Pointer(&sa)), uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return netip.AddrPort{}, errno
	}
	return sa.decode(), nil
}

// setOptions sets the options that must hold before the first datagram. It fails only if
// IPV6_V6ONLY cannot be set. Marks and buffer sizes are set as far as the system allows.
func setOptions(fd int, f family, e endpoints, c Config) error {
	if f == family6 {
		only := 1
		if !e.remote.IsValid() && e.local.Addr().IsUnspecified() {
			only = 0
		}
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, only); err != nil {
			return err
		}
	}
	askBuffer(fd, unix.SO_RCVBUF, unix.SO_RCVBUFFORCE, c.RecvBuffer)
	askBuffer(fd, unix.SO_SNDBUF, unix.SO_SNDBUFFORCE, c.SendBuffer)
	return nil
}

// askBuffer asks for a buffer size, past the system's limit if we have the right to.
// bufferSizes reads back what was granted.
func askBuffer(fd, option, force, bytes int) {
	if bytes < 0 {
		return
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, bytes)
	if granted, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err == nil && granted/2 < bytes {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, bytes)
	}
}

// bufferSizes returns the granted sizes in the unit of askBuffer. The kernel doubles a
// size for its own bookkeeping, and reports the double.
func bufferSizes(fd int) (recv, send int) {
	recv, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF)
	send, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	return recv / 2, send / 2
}

// openPlain hands the descriptor to package net, which makes its own copy.
func openPlain(fd int, c Config, remote netip.AddrPort, counts *counters) (driver, error) {
	recv, send := bufferSizes(fd)
	file := os.NewFile(uintptr(fd), "udp")
	defer file.Close()
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, err
	}
	u, ok := conn.(*net.UDPConn)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("unexpected connection %T", conn)
	}
	return newPlain(withFaults(u, c), c, remote, recv, send, counts), nil
}
