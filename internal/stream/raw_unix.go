//go:build unix

package stream

import (
	"io"
	"sync"
	"syscall"
)

// rawCall is one system call on a socket that does not wait. They are lent, as the function that the runtime calls would
// be allocated for each call otherwise.
type rawCall struct {
	do   func(fd uintptr) bool
	call func(fd int, b []byte) (int, error)
	b    []byte
	n    int
	err  error
}

var rawCalls = sync.Pool{New: func() any {
	r := new(rawCall)
	r.do = func(fd uintptr) bool {
		for {
			if r.n, r.err = r.call(int(fd), r.b); r.err != syscall.EINTR {
				return true
			}
		}
	}
	return r
}}

// try makes a call by way of the runtime, which keeps the descriptor open meanwhile.
func try(by func(func(fd uintptr) bool) error, call func(int, []byte) (int, error), b []byte) (int, error) {
	r := rawCalls.Get().(*rawCall)
	r.call, r.b = call, b
	err := by(r.do)
	if err == nil {
		err = r.err
	}
	n := max(r.n, 0)
	r.b, r.n = nil, 0
	rawCalls.Put(r)
	return n, err
}

// tryRead reads what has come.
func (c *Conn) tryRead(b []byte) (int, error) {
	n, err := try(c.raw.Read, syscall.Read, b)
	switch {
	case err == syscall.EAGAIN:
		return 0, errWouldBlock
	case err == nil && n == 0:
		return 0, io.EOF
	}
	return n, err
}

// tryWrite writes as much as the socket takes now. out.mu is held.
func (c *Conn) tryWrite(b []byte) (int, error) {
	n, err := try(c.raw.Write, syscall.Write, b)
	if err == syscall.EAGAIN {
		return 0, nil
	}
	return n, err
}

// TryWrite writes as much as a socket takes now, which may be nothing.
func TryWrite(raw syscall.RawConn, b []byte) (int, error) {
	n, err := try(raw.Write, syscall.Write, b)
	if err == syscall.EAGAIN {
		return 0, nil
	}
	return n, err
}
