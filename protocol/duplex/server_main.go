package duplex

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"parley/internal/stream"
)

// Sizes and bounds of what moves between the sockets of main and the loop. Together with
// the endpoint's own limits they are all that a connection can hold.
const (
	// readBytes is how much of one main is read before others have their turn: a
	// client that floods is read 4 KiB at a time, as every other is. A buffer is taken when
	// there is something to read, so that 5,000 silent mains hold none.
	readBytes = 4096

	// writeBytes is how much of one main is written at a time.
	writeBytes = 16 << 10

	// maxTurnReads bounds the mains that one turn of the loop reads: datagrams, timers and
	// the game's tick come after 256 KiB at the latest.
	maxTurnReads = 64

	// drainWait is how long a main that we have closed is still read. A system answers bytes
	// that nobody reads with a reset, which can overtake our last words: so they are
	// thrown away until the peer has closed too.
	drainWait = 500 * time.Millisecond

	// keepAliveEvery and keepAliveProbes are those of TCP: "TCP keep-alive (5 s, 3
	// probes)".
	keepAliveEvery  = 5 * time.Second
	keepAliveProbes = 3
)

var tcpKeepAlive = net.KeepAliveConfig{Enable: true, Idle: keepAliveEvery, Interval: keepAliveEvery, Count: keepAliveProbes}

// hub is where the goroutines of mains leave what the loop is to take. Each main has at
// most one piece here, and is not read on before that is taken: so one that floods is
// behind all others once more with each piece.
type hub struct {
	wake func()

	news atomic.Bool // came or sent is not empty
	mu   sync.Mutex
	came []*line // with a piece, or an end
	sent []*line // whose write is done
	over bool    // the loop has ended: nobody takes any more

	poller *poller // of a server, where the system has one; nil: each line has a goroutine that reads

	reads  sync.Pool // of *[readBytes]byte
	writes sync.Pool // of *[writeBytes]byte
	group  sync.WaitGroup

	// Owned by the loop, for the write that it is at.
	onWritable func(fd uintptr) bool // made once, as each write would else allocate
	writing    []byte
	written    int
}

// line is one main at its socket. A server's are read by its poller, others by a goroutine of their own; another
// goroutine writes while there is something to write that the system did not take at once.
type line struct {
	hub  *hub
	conn net.Conn        // what is read and written
	tcp  net.Conn        // the same, or what is below TLS
	raw  syscall.RawConn // nil with TLS, and where the system has none
	core *Conn           // at a server

	shake *stream.Handshake // at a server with TLS

	// Left by who reads under the hub's lock; then the loop's, until it says taken.
	piece *[readBytes]byte
	bytes []byte // of it, that were not taken yet
	end   error

	writeEnd error // left by the writer under the hub's lock

	reader *lineReader // its goroutine's; nil: the poller reads
	polled polled      // the poller's

	// Owned by the loop.
	held   bool // it has the piece
	closed bool
}

// lineReader is what the goroutine of a line has.
type lineReader struct {
	taken    chan struct{}
	draining atomic.Bool // what comes is thrown away

	onReadable func(fd uintptr) bool // made once
	n          int
	err        error
}

// newLine returns a line over a connection, which is TLS over tcp if it is not that itself.
func newLine(h *hub, conn, tcp net.Conn, core *Conn) *line {
	l := &line{hub: h, conn: conn, tcp: tcp, core: core}
	if tcp, ok := conn.(*net.TCPConn); ok && canReadRaw {
		l.raw, _ = tcp.SyscallConn()
	}
	return l
}

// start begins to read.
func (l *line) start() {
	if l.hub.poller != nil && l.raw != nil && l.hub.poller.add(l) {
		return
	}
	l.reader = &lineReader{taken: make(chan struct{}, 1), onReadable: l.readable}
	l.hub.group.Add(1)
	go func() {
		defer l.hub.group.Done()
		l.read()
	}()
}

// read reads until the end, behind the handshake if there is one.
func (l *line) read() {
	if l.shake != nil {
		err := l.conn.(*tls.Conn).Handshake()
		l.shake.Over()
		if err != nil && !l.reader.draining.Load() {
			l.leave(0, err)
			return
		}
	}
	for {
		n, err := l.receive()
		if l.reader.draining.Load() {
			if err == nil {
				l.hub.reads.Put(l.piece)
				continue
			}
			_ = l.conn.Close()
			return
		}
		if over := l.leave(n, err); err != nil || over {
			return
		}
		<-l.reader.taken
	}
}

// leave leaves what was read for the loop, and reports whether that has ended.
func (l *line) leave(n int, err error) (over bool) {
	l.hub.mu.Lock()
	l.bytes, l.end = nil, err
	if n > 0 {
		l.bytes = l.piece[:n]
	}
	over = l.hub.over
	l.hub.came = append(l.hub.came, l)
	l.hub.tell()
	return over
}

// receive waits for bytes and reads them into a lent piece.
func (l *line) receive() (int, error) {
	if l.raw == nil {
		l.piece = l.hub.takePiece()
		n, err := l.conn.Read(l.piece[:])
		if n > 0 {
			return n, nil // what is wrong comes again
		}
		return 0, err
	}
	r := l.reader
	if err := l.raw.Read(r.onReadable); err != nil {
		return 0, err
	}
	return r.n, readError(r.n, r.err)
}

// readError is what a read of n bytes says.
func readError(n int, err error) error {
	if err == nil && n == 0 {
		return io.EOF
	}
	return err
}

// tell unlocks the hub, which the caller has locked, and wakes the loop.
func (h *hub) tell() {
	h.news.Store(true)
	h.mu.Unlock()
	h.wake()
}

func (h *hub) takePiece() *[readBytes]byte {
	if p, ok := h.reads.Get().(*[readBytes]byte); ok {
		return p
	}
	return new([readBytes]byte)
}

func (h *hub) takeBuffer() *[writeBytes]byte {
	if p, ok := h.writes.Get().(*[writeBytes]byte); ok {
		return p
	}
	return new([writeBytes]byte)
}

// take returns at most max lines that have something for the loop, and all whose write is
// done, behind what the slices hold.
func (h *hub) take(came, sent []*line, max int) (_, _ []*line) {
	if !h.news.Load() {
		return came, sent
	}
	h.mu.Lock()
	n := min(len(h.came), max)
	for _, l := range h.came[:n] {
		l.held = true
		came = append(came, l)
	}
	rest := copy(h.came, h.came[n:])
	clear(h.came[rest:])
	h.came = h.came[:rest]
	sent = append(sent, h.sent...)
	clear(h.sent)
	h.sent = h.sent[:0]
	h.news.Store(rest > 0)
	h.mu.Unlock()
	if rest > 0 {
		h.wake()
	}
	return came, sent
}

// release says that a piece was taken, and has the line read on.
func (l *line) release() {
	l.held = false
	if l.piece != nil {
		l.hub.reads.Put(l.piece)
		l.piece, l.bytes = nil, nil
	}
	switch {
	case l.reader != nil:
		l.reader.taken <- struct{}{} // which has room: it is said once for each piece
	case !l.closed:
		l.hub.poller.arm(l)
	}
}

// write gives bytes to the system. It reports false if a goroutine does it, which the loop
// hears of later; the buffer is its own then.
func (l *line) write(buf *[writeBytes]byte, n int) (done bool) {
	written := l.tryWrite(buf[:n])
	if written == n {
		l.hub.writes.Put(buf)
		return true
	}
	l.hub.group.Add(1)
	go func() {
		defer l.hub.group.Done()
		_, err := l.conn.Write(buf[written:n])
		l.hub.writes.Put(buf)
		l.hub.mu.Lock()
		l.writeEnd = err
		l.hub.sent = append(l.hub.sent, l)
		l.hub.tell()
	}()
	return false
}

// close closes the socket, which ends its goroutines. If all was written, the peer gets to
// read it.
func (l *line) close(written bool) {
	if l.closed {
		return
	}
	l.closed = true
	if l.shake != nil {
		l.shake.Cancel()
	}
	if l.reader == nil {
		l.hub.poller.remove(l)
	}
	half, isTCP := l.conn.(*net.TCPConn)
	switch {
	case written && isTCP && half.CloseWrite() == nil:
		_ = half.SetReadDeadline(time.Now().Add(drainWait)) // an error ends the reads too
		if l.reader != nil {
			l.reader.draining.Store(true)
		} else {
			l.hub.group.Go(func() { drain(half) })
		}
	case written && !isTCP:
		l.hub.group.Go(func() { _ = l.conn.Close() }) // TLS says goodbye, which takes its time
	default:
		_ = l.tcp.Close()
	}
	if l.held {
		l.release()
	}
}

// drain throws away what comes until the peer has closed too, or the time for that is over.
func drain(conn *net.TCPConn) {
	var waste [512]byte
	for {
		if _, err := conn.Read(waste[:]); err != nil {
			_ = conn.Close()
			return
		}
	}
}

// finish lets the goroutines of all lines end, which are closed, when the loop has ended;
// and waits for them.
func (h *hub) finish() {
	h.mu.Lock()
	h.over = true
	for _, l := range h.came {
		l.release()
	}
	h.came = nil
	h.mu.Unlock()
	if h.poller != nil {
		h.poller.close()
	}
	h.group.Wait()
}

// endText says how a main ended, for HandleEnd: nothing if the peer closed it.
func endText(err error) string {
	if errors.Is(err, io.EOF) {
		return ""
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error() // without addresses, which the log has
	}
	return err.Error()
}
