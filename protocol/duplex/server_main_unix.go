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
func (l *line) tryWrite(b []byte) int {
	if l.raw == nil {
		return 0
	}
	l.writing, l.written = b, 0
	err := l.raw.Write(l.onWritable)
	l.writing = nil
	if err != nil {
		return 0
	}
	return max(l.written, 0)
}

// writable writes once. Whatever is wrong, the goroutine will find it too.
func (l *line) writable(fd uintptr) bool {
	l.written, _ = syscall.Write(int(fd), l.writing)
	return true
}
