//go:build unix

package duplex

import "syscall"

// canReadRaw says that a main can be waited for without a buffer.
const canReadRaw = true

// readable is called when there may be something to read, and reads it. Only then is
// there a buffer.
func (l *line) readable(fd uintptr) bool {
	piece := l.hub.takePiece()
	for {
		l.n, l.err = syscall.Read(int(fd), piece[:])
		if l.err != syscall.EINTR {
			break
		}
	}
	if l.err == syscall.EAGAIN {
		l.hub.reads.Put(piece)
		return false
	}
	l.piece = piece
	return true
}

// tryWrite writes what the system takes at once, and says how many bytes that is.
func (l *line) tryWrite(b []byte) (n int) {
	if l.raw == nil {
		return 0
	}
	err := l.raw.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), b) // whatever is wrong, the goroutine will find it too
		return true
	})
	if err != nil {
		return 0
	}
	return max(n, 0)
}
