//go:build unix

package udp

import "syscall"

// faultOfErrno names a system error.
func faultOfErrno(e syscall.Errno) Fault {
	switch e {
	case syscall.ECONNREFUSED, syscall.ECONNRESET:
		return FaultRefused
	case syscall.ENOBUFS, syscall.ENOMEM:
		return FaultNoBuffers
	case syscall.EMSGSIZE:
		return FaultTooBig
	case syscall.EAGAIN:
		return FaultWouldBlock
	case syscall.EPERM, syscall.EACCES:
		return FaultNotPermitted
	case syscall.EINTR:
		return FaultInterrupted
	case syscall.EHOSTUNREACH, syscall.EHOSTDOWN:
		return FaultHostUnreachable
	case syscall.ENETUNREACH, syscall.ENETDOWN:
		return FaultNetUnreachable
	case syscall.EINVAL, syscall.EAFNOSUPPORT, syscall.EADDRNOTAVAIL, syscall.EDESTADDRREQ:
		return FaultBadAddress
	}
	return FaultOther
}
