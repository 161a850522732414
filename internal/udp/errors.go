package udp

import (
	"errors"
	"fmt"
	"syscall"

	"parley/internal/datagram"
)

var (
	// ErrClosed is returned by the methods of a closed socket.
	ErrClosed = errors.New("udp: closed")

	// ErrWoken is returned by Read when Wake ended it.
	ErrWoken = errors.New("udp: read woken")

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

// faultOf names the system error inside err.
func faultOf(err error) datagram.Fault {
	var e syscall.Errno
	if errors.As(err, &e) {
		return faultOfErrno(e)
	}
	return datagram.FaultOther
}
