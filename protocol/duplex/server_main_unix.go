//go:build unix

package duplex

import "syscall"

// canReadRaw says that a main can be waited for without a buffer.
const canReadRaw = true

// readable is called when there may be something to read, and reads it. Only then is
// there a buffer.
func (l *line) readable(fd uintptr) bool {
	r := l.reader
	piece := l.hub.takePiece()
	r.n, r.err = readFD(fd, piece[:])
	if r.err == syscall.EAGAIN {
		l.hub.reads.Put(piece)
		return false
	}
	l.piece = piece
	return true
}

// readFD reads once.
func readFD(fd uintptr, b []byte) (n int, err error) {
	for {
		n, err = syscall.Read(int(fd), b)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// tryWrite writes what the system takes at once, and says how many bytes that is.
func (l *line) tryWrite(b []byte) int {
	if l.raw == nil {
		return 0
	}
	h := l.hub
	if h.onWritable == nil {
		h.onWritable = h.writable
	}
	h.writing, h.written = b, 0
	err := l.raw.Write(h.onWritable)
	h.writing = nil
	if err != nil {
		return 0
	}
	return max(h.written, 0)
}

// writable writes once. Whatever is wrong, the goroutine will find it too.
func (h *hub) writable(fd uintptr) bool {
	h.written, _ = syscall.Write(int(fd), h.writing)
	return true
}
