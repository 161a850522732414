package udp

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// faultOfErrno names a system error. Windows reports its own numbers.
func faultOfErrno(e syscall.Errno) Fault {
	switch e {
	case windows.WSAECONNREFUSED, windows.WSAECONNRESET:
		return FaultRefused
	case windows.WSAENOBUFS:
		return FaultNoBuffers
	case windows.WSAEMSGSIZE:
		return FaultTooBig
	case windows.WSAEWOULDBLOCK:
		return FaultWouldBlock
	case windows.WSAEACCES:
		return FaultNotPermitted
	case windows.WSAEINTR:
		return FaultInterrupted
	case windows.WSAEHOSTUNREACH, windows.WSAEHOSTDOWN:
		return FaultHostUnreachable
	case windows.WSAENETUNREACH, windows.WSAENETDOWN:
		return FaultNetUnreachable
	case windows.WSAEINVAL, windows.WSAEAFNOSUPPORT, windows.WSAEADDRNOTAVAIL, windows.WSAEDESTADDRREQ:
		return FaultBadAddress
	}
	return FaultOther
}
