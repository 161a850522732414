package udp

import (
	"errors"
	"fmt"
	"syscall"
)

var (
	// ErrClosed is returned by the methods of a closed socket or loop.
	ErrClosed = errors.New("udp: closed")

	// ErrWoken is returned by Read when Wake ended it.
	ErrWoken = errors.New("udp: read woken")

	// ErrQueueFull is returned by Post when the loop is so far behind that its
	// queue of commands is full. Nothing was queued.
	ErrQueueFull = errors.New("udp: the loop's command queue is full")

	// ErrNoGroup is inside the error of ListenGroup where the system cannot
	// share one port between sockets.
	ErrNoGroup = errors.New("sockets that share a port need Linux")
)

// OpenError says why a socket could not be opened and what to do about it. Err
// is the cause, for errors.Is (syscall.EADDRINUSE, syscall.EACCES and so on).
type OpenError struct {
	Op   string // "listen on" or "dial"
	Addr string // as the caller wrote it
	Err  error
}

// Error returns one sentence for the person who chose the address.
func (e *OpenError) Error() string {
	return fmt.Sprintf("udp: %s %s: %s", e.Op, e.Addr, advice(e.Err))
}

// Unwrap returns the cause.
func (e *OpenError) Unwrap() error { return e.Err }

func advice(err error) string {
	var bad *addressError
	switch {
	case errors.As(err, &bad):
		return bad.Error()
	case errors.Is(err, syscall.EADDRINUSE):
		return "the port is in use by another program; choose another port (0 lets the system pick one) or stop that program"
	case errors.Is(err, syscall.EACCES):
		return "the system does not permit this port; choose one above 1023 or give the program the right to use low ports"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this machine has no such address; choose one of its own or leave the host out to listen on all of them"
	case errors.Is(err, syscall.EAFNOSUPPORT):
		return "this machine does not have that version of IP; choose an address of the other one"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many files are open; raise the limit (ulimit -n) or open fewer sockets"
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "there is no route to that address; check the address and the network"
	}
	return err.Error()
}

// addressError is an address that could not be understood.
type addressError struct{ detail string }

func (e *addressError) Error() string {
	return "not an address (" + e.detail + "); write host:port, such as :7000 or 192.0.2.1:7000"
}

// Fault names an error that does not end the socket: it concerns one datagram or one
// moment. Each is counted in Stats.
type Fault uint8

const (
	FaultRefused         Fault = iota + 1 // ECONNREFUSED: nobody listens at the peer's port
	FaultNoBuffers                        // ENOBUFS, ENOMEM: the system is short of memory for packets
	FaultTooBig                           // EMSGSIZE: larger than the route or the protocol carries
	FaultWouldBlock                       // EAGAIN: the send buffer stayed full
	FaultNotPermitted                     // EPERM, EACCES: a firewall's or the system's refusal
	FaultInterrupted                      // EINTR: a signal came; the call was repeated
	FaultHostUnreachable                  // EHOSTUNREACH, EHOSTDOWN
	FaultNetUnreachable                   // ENETUNREACH, ENETDOWN
	FaultBadAddress                       // an address that this socket cannot send to
	FaultOther                            // anything else
	faultCount
)

var faultNames = [faultCount]string{
	"unset", "refused", "no buffers", "too big", "would block", "not permitted",
	"interrupted", "host unreachable", "network unreachable", "bad address", "other",
}

// String returns the fault's name in lower case words.
func (f Fault) String() string {
	if f >= faultCount {
		return "unknown"
	}
	return faultNames[f]
}

// faultOf names the system error inside err.
func faultOf(err error) Fault {
	var e syscall.Errno
	if errors.As(err, &e) {
		return faultOfErrno(e)
	}
	return FaultOther
}
