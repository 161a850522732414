package impair

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// shortBuffer returns the Control of a net.Dialer or net.ListenConfig that gives sockets a
// receive buffer of about so many bytes, nil for 0. The kernel must know it before the connection is
// there: a window that was offered is not taken back. A failure is no matter: the queue is longer then.
func shortBuffer(bytes int) func(network, address string, c syscall.RawConn) error {
	if bytes == 0 {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, bytes)
			// The segments of a loopback are larger than such a buffer.
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, segmentBytes)
		})
	}
}
