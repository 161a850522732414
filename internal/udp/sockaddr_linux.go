package udp

import (
	"encoding/binary"
	"net/netip"
	"unsafe"

	"golang.org/x/sys/unix"
)

// family is the address family of a socket, which decides the form of all
// addresses that pass through it.
type family uint16

const (
	family4 family = unix.AF_INET
	family6 family = unix.AF_INET6 // carries IPv4 as 4-in-6 when it is dual-stack
)

// sockaddr is room for an address of either family, as the kernel lays it out.
type sockaddr unix.RawSockaddrInet6

// inet4 returns the same memory as an IPv4 address.
func (sa *sockaddr) inet4() *unix.RawSockaddrInet4 {
	return (*unix.RawSockaddrInet4)(unsafe.Pointer(sa))
}

// encode writes the address to in the form of family f and returns its size. It returns 0
// if a socket of that family cannot send to it: an address of the other family, or a
// link-local address without its interface.
func (sa *sockaddr) encode(f family, to netip.AddrPort) uint32 {
	ip := to.Addr()
	if f == family4 {
		if ip = ip.Unmap(); !ip.Is4() {
			return 0
		}
		sa4 := sa.inet4()
		sa4.Family = unix.AF_INET
		putPort(&sa4.Port, to.Port())
		sa4.Addr = ip.As4()
		return unix.SizeofSockaddrInet4
	}
	if !ip.IsValid() {
		return 0
	}
	sa.Family = unix.AF_INET6
	putPort(&sa.Port, to.Port())
	sa.Flowinfo = 0
	sa.Addr = ip.As16() // an IPv4 address becomes 4-in-6
	var ok bool
	if sa.Scope_id, ok = zoneIndex(ip); !ok {
		return 0
	}
	return unix.SizeofSockaddrInet6
}

// decode returns the address in canonical form.
func (sa *sockaddr) decode() netip.AddrPort {
	if sa.Family == unix.AF_INET {
		sa4 := sa.inet4()
		return netip.AddrPortFrom(netip.AddrFrom4(sa4.Addr), getPort(&sa4.Port))
	}
	ip := netip.AddrFrom16(sa.Addr).Unmap()
	if sa.Scope_id != 0 && scoped(ip) {
		ip = ip.WithZone(zones.name(sa.Scope_id))
	}
	return netip.AddrPortFrom(ip, getPort(&sa.Port))
}

// putPort stores a port in network byte order on any machine.
func putPort(dst *uint16, port uint16) {
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(dst))[:], port)
}

func getPort(src *uint16) uint16 {
	return binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(src))[:])
}
