package impair

import (
	"net"
	"sync"
)

// pipe is what of a stream has arrived and waits for its receiver, who may be slow: the
// schedule must not wait for it. Its bound is on all that was read and is not written yet,
// so that a receiver who does not read is felt by who sends.
type pipe struct {
	mu      sync.Mutex
	changed sync.Cond
	queue   [][]byte
	held    int // bytes read and not written, scheduled ones too
	ended   bool
	broken  bool          // the receiver is gone
	gone    chan struct{} // closed when it is
}

func newPipe() *pipe {
	p := &pipe{gone: make(chan struct{})}
	p.changed.L = &p.mu
	return p
}

// reserve waits until n more bytes may be held. It reports false when the receiver is gone.
func (p *pipe) reserve(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.held+n > maxStreamBytes && !p.broken {
		p.changed.Wait()
	}
	p.held += n
	return !p.broken
}

// push has bytes written that were reserved.
func (p *pipe) push(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, b)
	p.changed.Broadcast()
}

// cut says that no more comes and that nobody is there to get it.
func (p *pipe) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.breakOff()
}

func (p *pipe) breakOff() {
	if !p.broken {
		p.broken = true
		close(p.gone)
	}
	p.changed.Broadcast()
}

// end says that no more comes.
func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.changed.Broadcast()
}

// writeTo writes until the end, and hands that on.
func (p *pipe) writeTo(to net.Conn, w *way) {
	for {
		batch, ok := p.take()
		if !ok {
			break
		}
		for _, b := range batch {
			_, err := to.Write(b)
			p.release(len(b), err != nil)
			w.arrived(len(b))
		}
	}
	if c, ok := to.(*net.TCPConn); ok {
		c.CloseWrite()
	}
}

// take waits for bytes, until there are no more.
func (p *pipe) take() ([][]byte, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) == 0 && !p.ended {
		p.changed.Wait()
	}
	batch := p.queue
	p.queue = nil
	return batch, len(batch) > 0
}

func (p *pipe) release(n int, broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held -= n
	if broken {
		p.breakOff()
	}
	p.changed.Broadcast()
}
