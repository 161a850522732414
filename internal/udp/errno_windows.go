package udp

import (
	"syscall"

	"golang.org/x/sys/windows"

	"parley/internal/datagram"
)

// faultOfErrno names a system error. Windows reports its own numbers.
func faultOfErrno(e syscall.Errno) datagram.Fault {
	switch e {
	case windows.WSAECONNREFUSED, windows.WSAECONNRESET:
		return datagram.FaultRefused
	case windows.WSAENOBUFS:
		return datagram.FaultNoBuffers
	case windows.WSAEMSGSIZE:
		return datagram.FaultTooBig
	case windows.WSAEWOULDBLOCK:
		return datagram.FaultWouldBlock
	case windows.WSAEACCES:
		return datagram.FaultNotPermitted
	case windows.WSAEINTR:
		return datagram.FaultInterrupted
	case windows.WSAEHOSTUNREACH, windows.WSAEHOSTDOWN:
		return datagram.FaultHostUnreachable
	case windows.WSAENETUNREACH, windows.WSAENETDOWN:
		return datagram.FaultNetUnreachable
	case windows.WSAEINVAL, windows.WSAEAFNOSUPPORT, windows.WSAEADDRNOTAVAIL, windows.WSAEDESTADDRREQ:
		return datagram.FaultBadAddress
	}
	return datagram.FaultOther
}
