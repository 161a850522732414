package call

import (
	"fmt"
	"sync"
	"sync/atomic"

	"parley/internal/datagram"
	"parley/internal/queue"
)

// Messages is a session that carries messages.
type Messages interface {
	// Receive waits for a message, whose bytes are valid until the next call. One goroutine calls it.
	Receive() ([]byte, error)

	// Send sends a message, and may wait for the peer. One goroutine calls it.
	Send(b []byte) error

	// Close says goodbye, and ends the session in closeTime at most. Cut ends it at once. Both end Receive and Send.
	Close()
	Cut()
}

// mail moves messages between a session and two queues.
type mail struct {
	messages Messages
	largest  int
	group    sync.WaitGroup
	signal   chan struct{} // something came, or the session has ended
	more     chan struct{} // something is to be sent, or no more will be

	mu      sync.Mutex
	in, out queue.Packets
	lender  spares
	err     error // why the session has ended
	closing bool  // nothing more is to be sent

	inDropped, inLarge, outLost, outLarge, sent, sentBytes, writes atomic.Uint64
}

func newMail(m Messages, largest int) *mail {
	x := &mail{messages: m, largest: largest, signal: make(chan struct{}, 1), more: make(chan struct{}, 1)}
	x.group.Go(x.read)
	x.group.Go(x.write)
	return x
}

// read queues what comes, until the session ends.
func (m *mail) read() {
	for {
		b, err := m.messages.Receive()
		if err != nil {
			m.fail(err)
			return
		}
		if len(b) > m.largest {
			m.inLarge.Add(1)
			continue
		}
		m.mu.Lock()
		for m.in.Len() > 0 && m.in.Held()+bufferBytes+queue.PacketOverhead > maxWaiting {
			m.in.Drop(&m.lender)
			m.inDropped.Add(1)
		}
		m.in.Put(append(m.lender.take(), b...))
		m.mu.Unlock()
		notify(m.signal)
	}
}

// fail notes why the session has ended, once.
func (m *mail) fail(err error) {
	m.mu.Lock()
	if m.err == nil {
		m.err = fmt.Errorf("%w: %w", ErrEnded, err)
	}
	m.outLost.Add(uint64(m.out.Len()))
	m.out.Clear(&m.lender)
	m.mu.Unlock()
	notify(m.signal)
	notify(m.more)
}

// put queues a message to be sent. While too many wait, the oldest are dropped.
func (m *mail) put(b []byte) {
	if len(b) > m.largest {
		m.outLarge.Add(1)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil || m.closing {
		m.outLost.Add(1)
		return
	}
	for m.out.Len() > 0 && m.out.Held()+bufferBytes+queue.PacketOverhead > maxWaiting {
		m.out.Drop(&m.lender)
		m.outLost.Add(1)
	}
	m.out.Put(append(m.lender.take(), b...))
}

// write sends what waits, until the session ends or there will be no more.
func (m *mail) write() {
	for range m.more {
		for {
			m.mu.Lock()
			if m.out.Len() == 0 {
				over := m.err != nil || m.closing
				m.mu.Unlock()
				if over {
					m.messages.Close()
					return
				}
				break
			}
			b := m.out.Pop()
			m.mu.Unlock()
			err := m.messages.Send(b)
			m.mu.Lock()
			m.lender.Give(b)
			m.mu.Unlock()
			m.writes.Add(1)
			if err != nil {
				m.outLost.Add(1)
				m.fail(err)
				continue
			}
			m.sent.Add(1)
			m.sentBytes.Add(uint64(len(b)))
		}
	}
}

// close has what waits sent, and then ends the session.
func (m *mail) close() {
	m.mu.Lock()
	m.closing = true
	m.mu.Unlock()
	notify(m.more)
	defer afterClose(m.messages.Cut)()
	m.group.Wait()
}

// stats returns the counters of what was sent and dropped.
func (m *mail) stats(s *datagram.Stats) {
	s.InDropped, s.InTruncated = m.inDropped.Load(), m.inLarge.Load()
	s.OutDatagrams, s.OutBytes, s.OutBatches = m.sent.Load(), m.sentBytes.Load(), m.writes.Load()
	large := m.outLarge.Load()
	s.OutLost = m.outLost.Load() + large
	s.OutFaults[datagram.FaultTooBig] = large
}

// bufferBytes is the room of a message that waits.
const bufferBytes = maxDatagram

// spares are buffers that wait to be used again. It is guarded by its mail.
type spares [][]byte

// Give is that of queue.Lender.
func (s *spares) Give(b []byte) {
	if len(*s) < turnDatagrams {
		*s = append(*s, b[:0])
	}
}

func (s *spares) take() []byte {
	if n := len(*s); n > 0 {
		b := (*s)[n-1]
		*s = (*s)[:n-1]
		return b
	}
	return make([]byte, 0, bufferBytes)
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
