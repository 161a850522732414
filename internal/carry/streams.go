package carry

import (
	"time"

	"parley/internal/stream"
)

// streams is a stream.Carrier that is made of another, and of the streams of a Hall.
type streams struct {
	stream.Carrier // the other
	hall           *Hall

	// Of the goroutine of Turn.
	turn           []*StreamSession
	stalled, again []*StreamSession // with bytes that were not taken
}

// JoinStreams returns a carrier of all that base carries and of a Hall's streams. Only one carrier may have a Hall. Without sessions it
// returns base.
func JoinStreams(base stream.Carrier, s Sessions) stream.Carrier { return s.joinStreams(base) }

func (h *Hall) joinStreams(base stream.Carrier) stream.Carrier {
	h.streamed.Store(true)
	return &streams{Carrier: base, hall: h}
}

// Start is that of stream.Carrier.
func (c *streams) Start(wake func()) {
	c.hall.come.Lock()
	c.hall.wakeNews = wake
	c.hall.come.Unlock()
	c.hall.begin()
	c.Carrier.Start(wake)
	wake()
}

// Turn is that of stream.Carrier.
func (c *streams) Turn(now time.Time, handler stream.Handler) {
	c.Carrier.Turn(now, handler)
	h := c.hall
	h.come.Lock()
	n := min(len(h.news), maxStreamTurn)
	c.turn = append(c.turn, h.news[:n]...)
	rest := copy(h.news, h.news[n:])
	clear(h.news[rest:])
	h.news = h.news[:rest]
	wake := h.wakeNews
	h.come.Unlock()
	if rest > 0 && wake != nil {
		wake()
	}
	c.stalled, c.again = c.again[:0], c.stalled
	for i, s := range c.again {
		c.again[i] = nil
		c.offer(now, s)
	}
	for i, s := range c.turn {
		c.turn[i] = nil
		c.tell(now, s, handler)
	}
	c.turn = c.turn[:0]
}

// tell does the work of a turn for one stream.
func (c *streams) tell(now time.Time, s *StreamSession, handler stream.Handler) {
	h := c.hall
	h.come.Lock()
	news := s.news
	s.news, s.queued = 0, false
	h.come.Unlock()
	if news&newsOpened != 0 {
		if s.core = handler.Opened(now, s); s.core == nil {
			s.Cut()
		} else {
			h.group.Go(s.read)
		}
	}
	if news&newsBytes != 0 {
		c.offer(now, s)
	}
	if news&newsWritable != 0 && !s.deaf && s.core != nil {
		s.core.Writable(now)
	}
	if news&newsEnded != 0 {
		s.deaf = true
		if s.core != nil {
			s.core.Ended(now, s.err)
		}
	}
}

// offer offers the core the bytes that were not taken yet.
func (c *streams) offer(now time.Time, s *StreamSession) {
	switch {
	case s.deaf:
		s.in = nil
	case c.hall.door.Shuts(now, s.opening.Source.Addr().Unmap()):
		s.in = nil // it is not cut off, so that it can still be told why
	default:
		s.in = s.in[s.core.Received(now, s.in):]
	}
	if len(s.in) > 0 && !s.deaf {
		c.stalled = append(c.stalled, s)
		return
	}
	if s.piece != nil {
		pieces.Put(s.piece)
		s.piece, s.in = nil, nil
		s.taken <- struct{}{} // has room for it: it comes once for each piece
	}
}

// Stop is that of stream.Carrier.
func (c *streams) Stop() {
	c.hall.stop()
	c.Carrier.Stop()
}

// Close is that of stream.Carrier.
func (c *streams) Close() {
	c.hall.close()
	c.Carrier.Close()
}
