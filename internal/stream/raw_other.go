//go:build !unix

package stream

// rawSide reads and writes the socket on systems without a system call that does not
// wait. A goroutine waits instead, with a buffer.
type rawSide struct {
	ahead [readBytes]byte
	have  []byte
}

func (s *rawSide) init(*Conn) {}

// wait waits until some bytes were read, which read then returns.
func (s *rawSide) wait(c *Conn) error {
	n, err := c.socket.Read(s.ahead[:])
	s.have = s.ahead[:n]
	if n > 0 {
		return nil
	}
	return err
}

func (s *rawSide) read(c *Conn, b []byte) (int, error) {
	if len(s.have) == 0 {
		return 0, errWouldBlock
	}
	n := copy(b, s.have)
	s.have = s.have[n:]
	return n, nil
}

// write leaves all to the goroutine of flush. out.mu is held.
func (s *rawSide) write(*Conn, []byte) (int, error) { return 0, nil }

// flush writes all that is pending, and waits for the socket.
func (s *rawSide) flush(c *Conn) error {
	o := &c.out
	for {
		o.mu.Lock()
		b := o.pending
		o.mu.Unlock()
		if len(b) == 0 {
			return nil
		}
		n, err := c.socket.Write(b)
		o.mu.Lock()
		o.pending = o.pending[n:]
		o.mu.Unlock()
		if err != nil {
			return err
		}
	}
}
