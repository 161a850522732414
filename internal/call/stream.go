package call

import (
	"context"
	"io"
	"net/netip"
	"sync"
	"time"

	"parley/internal/pace"
	"parley/internal/stream"
)

// Pipe is the two ways of a session's stream.
type Pipe interface {
	// Read waits for bytes. It returns io.EOF when the server has said that nothing more comes.
	Read(b []byte) (int, error)

	// Write sends all of b, and may wait for the server.
	Write(b []byte) (int, error)

	// CloseWrite tells the server that nothing more comes. Read goes on until the server closes too.
	CloseWrite() error

	// Close ends the session at once, with Read and Write.
	Close() error
}

// line is a session's stream: a stream.Dialed, and the stream.Stream of it. What is not guarded belongs to the goroutine that calls Turn.
type line struct {
	pipe          Pipe
	carrier       Carrier
	local, remote netip.AddrPort
	born          time.Time
	wake          func()
	group         sync.WaitGroup
	taken         chan struct{} // the bytes were taken

	receiver stream.Receiver
	deaf     bool // only Ended is reported
	over     bool // Ended was reported
	in       []byte

	mu        sync.Mutex
	came      []byte // what was read and not handed over
	err       error  // why nothing more comes
	out       []byte // what is being written
	running   bool   // a goroutine writes
	ending    bool   // what comes is not wanted any more
	finishing bool   // it tells the server, when all is written, that nothing more comes
	wrote     bool   // Writable is due
}

var (
	_ stream.Dialed = (*line)(nil)
	_ stream.Stream = (*line)(nil)
)

func newStream(s *Session) *line {
	return &line{pipe: s.pipe, carrier: s.target.Carrier, local: s.local, remote: s.remote, born: time.Now(), taken: make(chan struct{}, 1)}
}

// Start is that of stream.Dialed.
func (l *line) Start(wake func()) {
	l.wake = wake
	l.group.Go(l.read)
	wake()
}

// read reads piece by piece until the stream ends. The next is read when the one before was taken.
func (l *line) read() {
	buf := make([]byte, pieceBytes)
	for {
		n, err := l.pipe.Read(buf)
		l.mu.Lock()
		wanted := n > 0 && !l.ending
		if wanted {
			l.came = buf[:n]
		}
		if err != nil {
			l.err = err
		}
		l.mu.Unlock()
		if wanted || err != nil {
			l.wake()
		}
		if err != nil {
			return
		}
		if wanted {
			<-l.taken
		}
	}
}

// Turn is that of stream.Dialed.
func (l *line) Turn(now time.Time, h stream.Handler) {
	if l.receiver == nil {
		l.receiver = h.Opened(now, l)
	}
	l.mu.Lock()
	if l.came != nil {
		l.in, l.came = l.came, nil
	}
	err, wrote := l.err, l.wrote
	l.wrote = false
	l.mu.Unlock()
	if wrote && !l.deaf {
		l.receiver.Writable(now)
	}
	if len(l.in) > 0 && !l.deaf {
		if l.in = l.in[l.receiver.Received(now, l.in):]; len(l.in) == 0 {
			notify(l.taken)
		}
	}
	if err != nil && !l.over && (l.deaf || len(l.in) == 0) {
		l.over = true
		l.receiver.Ended(now, err)
	}
}

// Addr is that of stream.Dialed.
func (l *line) Addr() netip.AddrPort { return l.remote }

// LocalAddr is that of stream.Dialed.
func (l *line) LocalAddr() netip.AddrPort { return l.local }

// Stream is that of stream.Dialed.
func (l *line) Stream() stream.Stream { return l }

// Close is that of stream.Dialed.
func (l *line) Close(ctx context.Context) error {
	l.mu.Lock()
	polite := l.finishing && l.err == nil
	l.ending = true
	l.mu.Unlock()
	notify(l.taken)
	if !polite {
		l.pipe.Close()
	}
	ended := make(chan struct{})
	go func() {
		l.group.Wait()
		close(ended)
	}()
	late := time.NewTimer(closeTime)
	defer late.Stop()
	var err error
	select {
	case <-ended:
	case <-late.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.pipe.Close()
	<-ended
	return err
}

// Peer is that of stream.Stream.
func (l *line) Peer() netip.AddrPort { return l.remote }

// Carrier returns what brings the stream.
func (l *line) Carrier() string { return string(l.carrier) }

// Born is that of stream.Stream.
func (l *line) Born() time.Time { return l.born }

// Entered is that of stream.Stream: a server's.
func (l *line) Entered() {}

// Ready is that of stream.Stream.
func (l *line) Ready() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.out) == 0
}

// Send is that of stream.Stream.
func (l *line) Send(b []byte) {
	if l.deaf || len(b) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil && l.err != io.EOF {
		return
	}
	l.out = append(l.out, b...)
	l.begin()
}

// begin has a goroutine write. The caller holds the lock.
func (l *line) begin() {
	if !l.running {
		l.running = true
		l.group.Go(l.flush)
	}
}

// flush writes what waits.
func (l *line) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.out) > 0 {
		b := l.out
		l.mu.Unlock()
		_, err := l.pipe.Write(b)
		l.mu.Lock()
		if l.out = l.out[len(b):]; err != nil {
			l.out = nil
			break // Read says why
		}
	}
	l.out, l.wrote = l.out[:0], true
	if l.finishing {
		l.mu.Unlock()
		_ = l.pipe.CloseWrite()
		l.mu.Lock()
		return // nothing starts another
	}
	l.running = false
	defer l.wake()
}

// Pace is that of stream.Stream: a client measures nothing.
func (l *line) Pace(time.Time, int) stream.Pace { return stream.Pace{} }

// Estimate is that of stream.Stream.
func (l *line) Estimate() pace.Estimate { return new(pace.Path).Estimate() }

// Finish is that of stream.Stream.
func (l *line) Finish() {
	if l.deaf {
		return
	}
	l.deaf = true
	l.mu.Lock()
	l.ending, l.finishing = true, true
	l.begin()
	l.mu.Unlock()
	notify(l.taken)
}

// Cut is that of stream.Stream.
func (l *line) Cut() {
	l.deaf = true
	l.mu.Lock()
	l.ending = true
	l.mu.Unlock()
	notify(l.taken)
	l.pipe.Close()
}
