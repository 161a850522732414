package ws

import (
	"errors"
	"io"
	"net"
	"sync"

	"parley/internal/carry"
)

// pipe is a connection as a stream: a carry.Pipe. Messages are pieces of it.
type pipe struct {
	net *shaken

	// Of the goroutine that reads.
	frames    frames
	in        [readBytes]byte
	have      []byte          // of in: frames that were not read yet
	data      []byte          // of in: data that was not read yet
	allowance carry.Allowance // of frames

	mu   sync.Mutex
	pong pong

	writing sync.Mutex
	sent    []byte // room for a frame; guarded by writing
	last    bool   // a close frame went out; guarded by writing
}

func newPipe(c *shaken) *pipe { return &pipe{net: c, allowance: carry.NewAllowance()} }

// Read is that of carry.Pipe. It takes the data of all frames that have come whole or in part, as far as b has room.
func (p *pipe) Read(b []byte) (n int, err error) {
	for n < len(b) {
		if len(p.data) > 0 {
			k := copy(b[n:], p.data)
			p.data = p.data[k:]
			n += k
			continue
		}
		if len(p.have) == 0 {
			if n > 0 {
				return n, nil
			}
			k, err := p.net.Read(p.in[:])
			if p.have = p.in[:k]; k == 0 {
				return 0, err
			}
		}
		if err := p.take(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// take takes the next piece of what has come.
func (p *pipe) take() error {
	x, n, err := p.frames.next(p.have)
	if p.have = p.have[n:]; err != nil {
		p.tell(codeOf(err), err.Error())
		return errors.Join(carry.ErrWrong, err)
	}
	if x.kind != pieceNone && !p.allowance.Spend() {
		p.tell(codePolicy, carry.Flood.String())
		return carry.ErrFlood
	}
	switch x.kind {
	case pieceData:
		p.data = x.b
	case piecePing:
		p.mu.Lock()
		p.pong.note(x.b)
		p.mu.Unlock()
		if p.writing.TryLock() { // else it goes out with what is being written, or behind it
			defer p.writing.Unlock()
			return p.flush(nil)
		}
	case pieceClose:
		return io.EOF
	}
	return nil
}

// flush writes the answer to a ping, if one waits, and a message. writing is held.
func (p *pipe) flush(b []byte) error {
	p.mu.Lock()
	out := p.pong.appendTo(p.sent[:0])
	p.mu.Unlock()
	if len(b) > 0 {
		out = append(appendHead(out, len(b)), b...)
	}
	if p.sent = out[:0]; cap(out) > 4<<10 {
		p.sent = nil
	}
	if p.last {
		return net.ErrClosed
	}
	return p.net.writeAll(out)
}

// Write is that of carry.Pipe.
func (p *pipe) Write(b []byte) (int, error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	if err := p.flush(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// CloseWrite is that of carry.Pipe.
func (p *pipe) CloseWrite() error {
	p.tell(codeNormal, carry.Done.String())
	return nil
}

// tell sends a close frame.
func (p *pipe) tell(code uint16, text string) {
	p.writing.Lock()
	defer p.writing.Unlock()
	if !p.last {
		_ = p.net.writeAll(appendClose(nil, code, text))
		p.last = true
		closeWrite(p.net.Conn)
	}
}

// Close is that of carry.Pipe.
func (p *pipe) Close() error { return p.net.Close() }
