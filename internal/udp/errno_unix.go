//go:build unix || js

package udp

import (
	"syscall"

	"parley/internal/datagram"
)

// faultOfErrno names a system error.
func faultOfErrno(e syscall.Errno) datagram.Fault {
	switch e {
	case syscall.ECONNREFUSED, syscall.ECONNRESET:
		return datagram.FaultRefused
	case syscall.ENOBUFS, syscall.ENOMEM:
		return datagram.FaultNoBuffers
	case syscall.EMSGSIZE:
		return datagram.FaultTooBig
	case syscall.EAGAIN:
		return datagram.FaultWouldBlock
	case syscall.EPERM, syscall.EACCES:
		return datagram.FaultNotPermitted
	case syscall.EINTR:
		return datagram.FaultInterrupted
	case syscall.EHOSTUNREACH, syscall.EHOSTDOWN:
		return datagram.FaultHostUnreachable
	case syscall.ENETUNREACH, syscall.ENETDOWN:
		return datagram.FaultNetUnreachable
	case syscall.EINVAL, syscall.EAFNOSUPPORT, syscall.EADDRNOTAVAIL, syscall.EDESTADDRREQ:
		return datagram.FaultBadAddress
	}
	return datagram.FaultOther
}
