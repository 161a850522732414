//go:build unix

package stream

import (
	"io"
	"syscall"
)

// rawSide reads and writes the socket without waiting. Its functions are made once, so
// that reads and writes do not allocate.
type rawSide struct {
	ahead   [aheadBytes]byte
	have    uint8 // bytes of ahead that were not read yet
	from    uint8
	drained bool // the last read found less than it asked for

	waitFn  func(fd uintptr) bool
	waitErr error

	readFn  func(fd uintptr) bool
	readBuf []byte
	readN   int
	readErr error

	writeFn  func(fd uintptr) bool
	writeBuf []byte
	writeN   int
	writeErr error
}

func (s *rawSide) init(c *Conn) {
	s.waitFn = func(fd uintptr) bool {
		n, err := ignoringEINTR(syscall.Read, int(fd), s.ahead[:])
		if err == syscall.EAGAIN {
			return false
		}
		s.waitErr = readError(n, err)
		s.have, s.from, s.drained = uint8(max(n, 0)), 0, n < len(s.ahead)
		return true
	}
	s.readFn = func(fd uintptr) bool {
		s.readN, s.readErr = ignoringEINTR(syscall.Read, int(fd), s.readBuf)
		return true
	}
	s.writeFn = func(fd uintptr) bool {
		s.writeN, s.writeErr = ignoringEINTR(syscall.Write, int(fd), s.writeBuf)
		return true
	}
}

func ignoringEINTR(call func(int, []byte) (int, error), fd int, b []byte) (int, error) {
	for {
		n, err := call(fd, b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

func readError(n int, err error) error {
	if err == nil && n == 0 {
		return io.EOF
	}
	return err
}

// wait waits until a few bytes could be read, which read then returns first.
func (s *rawSide) wait(c *Conn) error {
	s.waitErr = nil
	if err := c.raw.Read(s.waitFn); err != nil {
		return err
	}
	return s.waitErr
}

func (s *rawSide) read(c *Conn, b []byte) (int, error) {
	n := copy(b, s.ahead[s.from:s.from+s.have])
	s.from += uint8(n)
	s.have -= uint8(n)
	b = b[n:]
	switch {
	case len(b) == 0:
		return n, nil
	case s.drained && n > 0:
		return n, nil
	case s.drained:
		return 0, errWouldBlock
	}
	s.readBuf, s.readN, s.readErr = b, 0, nil
	err := c.raw.Read(s.readFn)
	s.readBuf = nil
	if err == nil {
		err = s.readErr
	}
	if err == syscall.EAGAIN {
		s.drained = true
		if n > 0 {
			return n, nil
		}
		return 0, errWouldBlock
	}
	if err = readError(max(s.readN, 0), err); err != nil {
		if n > 0 && err == io.EOF {
			return n, nil // the next read finds the end again
		}
		return n, err
	}
	s.drained = s.readN < len(b)
	return n + s.readN, nil
}

// write writes as much as the socket takes now. out.mu is held.
func (s *rawSide) write(c *Conn, b []byte) (int, error) {
	s.writeBuf, s.writeN, s.writeErr = b, 0, nil
	err := c.raw.Write(s.writeFn)
	s.writeBuf = nil
	switch {
	case err != nil:
		return 0, err
	case s.writeErr == syscall.EAGAIN:
		return 0, nil
	case s.writeErr != nil:
		return 0, s.writeErr
	}
	return s.writeN, nil
}

// flush writes all that is pending, and waits for the socket.
func (s *rawSide) flush(c *Conn) error {
	o := &c.out
	var failed error
	err := c.raw.Write(func(fd uintptr) bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		for len(o.pending) > 0 {
			n, err := ignoringEINTR(syscall.Write, int(fd), o.pending)
			if err == syscall.EAGAIN {
				return false
			}
			if failed = err; err != nil {
				return true
			}
			o.pending = o.pending[n:]
		}
		return true
	})
	if err != nil {
		return err
	}
	return failed
}
