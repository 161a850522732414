//go:build !unix

package stream

import "syscall"

// tryRead finds nothing, as there is no system call here that does not wait.
func (c *Conn) tryRead([]byte) (int, error) { return 0, errWouldBlock }

// tryWrite leaves all to the goroutine of flush. out.mu is held.
func (c *Conn) tryWrite([]byte) (int, error) { return 0, nil }

// TryWrite leaves all to a goroutine that may wait.
func TryWrite(syscall.RawConn, []byte) (int, error) { return 0, nil }
