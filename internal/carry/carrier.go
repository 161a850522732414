package carry

import (
	"time"

	"parley/internal/datagram"
	"parley/internal/way"
)

// carrier is a datagram.Carrier that is made of another, and of the sessions of a Hall.
type carrier struct {
	datagram.Carrier // the other
	hall             *Hall
	turn             datagram.Turn

	// Of the goroutine of Serve.
	batch datagram.RecvBatch
	arena []byte
	left  []*Session // that have something left from the last turn
	again []*Session // that have given their share of this one
	ended []*Session // whose end this turn is told

	// Of the goroutine that writes.
	touched []*Session
	keep    func(e *datagram.SendEntry) bool
	out     *datagram.SendBatch
}

// Join returns a carrier of all that base carries and of a Hall's sessions. Only one carrier may have a Hall. Without sessions it returns
// base.
func Join(base datagram.Carrier, s Sessions) datagram.Carrier { return s.join(base) }

func (h *Hall) join(base datagram.Carrier) datagram.Carrier {
	c := &carrier{Carrier: base, hall: h, batch: datagram.NewSessionBatch(turnBatch, MaxDatagram), arena: make([]byte, turnBatch*MaxDatagram)}
	c.keep = c.route
	h.come.Lock()
	h.wake = base.Wake
	h.come.Unlock()
	h.datagrams.Store(true)
	h.begin()
	return c
}

// NewSendBatch returns a batch with room for a session's datagrams, too.
func (c *carrier) NewSendBatch() *datagram.SendBatch {
	if b := c.Carrier.NewSendBatch(); cap(b.Free()) >= MaxDatagram {
		return b
	}
	return datagram.NewSendBatch(turnBatch, MaxDatagram)
}

// Serve is that of datagram.Carrier.
func (c *carrier) Serve(turn datagram.Turn) error {
	c.turn = turn
	return c.Carrier.Serve(c.both)
}

// both gives a turn what base brought, and then one what sessions did.
func (c *carrier) both(in *datagram.RecvBatch, woken bool) (datagram.Next, time.Time) {
	more := c.fill()
	var next datagram.Next
	var until time.Time
	if in.More() || !c.batch.More() {
		if next, until = c.turn(in, woken); next == datagram.Stop {
			return next, until
		}
		woken = false
	}
	if c.batch.More() {
		if next, until = c.turn(&c.batch, woken); next == datagram.Stop {
			return next, until
		}
	}
	c.hall.bury(c.ended)
	clear(c.ended)
	c.ended = c.ended[:0]
	c.hall.part()
	if more {
		next = datagram.Again
	}
	return next, until
}

// fill fills the batch with what sessions brought, and reports whether something is left for another turn.
func (c *carrier) fill() (more bool) {
	h := c.hall
	h.come.Lock()
	list := h.arrivals
	h.arrivals, h.spare = h.spare[:0], nil
	h.come.Unlock()
	c.batch.Clear()
	if len(list) == 0 && len(c.left) == 0 {
		h.come.Lock()
		h.spare = list
		h.come.Unlock()
		return false
	}
	now := time.Now()
	c.left = append(c.left, list...)
	clear(list)
	h.come.Lock()
	h.spare = list[:0]
	h.come.Unlock()
	used, room, at := 0, turnBatch, 0
	for at < len(c.left) && room > 0 {
		s := c.left[at]
		n, count, more := s.drain(now, &c.batch, c.arena[used:], room)
		used += n
		room -= count
		switch {
		case more:
			c.again = append(c.again, s) // behind those that had nothing yet
		case s.isOver():
			c.ended = append(c.ended, s)
		}
		at++
	}
	n := copy(c.left, c.left[at:])
	clear(c.left[n:])
	c.left = append(c.left[:n], c.again...)
	clear(c.again)
	c.again = c.again[:0]
	return len(c.left) > 0
}

// Write is that of datagram.Carrier.
func (c *carrier) Write(out *datagram.SendBatch) error { return c.write(out, c.Carrier.Write) }

// WriteInTurn is that of datagram.Carrier.
func (c *carrier) WriteInTurn(out *datagram.SendBatch) error {
	return c.write(out, c.Carrier.WriteInTurn)
}

func (c *carrier) write(out *datagram.SendBatch, rest func(*datagram.SendBatch) error) error {
	c.out = out
	c.hall.mu.RLock()
	out.Filter(c.keep)
	c.hall.mu.RUnlock()
	for i, s := range c.touched {
		s.touched, c.touched[i] = false, nil
		s.opening.Ready()
	}
	c.touched = c.touched[:0]
	if out.Len() == 0 {
		out.Reset()
		return nil
	}
	return rest(out)
}

// route gives a datagram to its session, or reports that base is to send it. hall.mu is held.
func (c *carrier) route(e *datagram.SendEntry) bool {
	if !way.IsSession(e.To.Addr()) {
		return true
	}
	s := c.hall.sessions[e.To.Addr()]
	if s == nil {
		c.hall.counts.outGone.Add(1)
		return false
	}
	s.put(c.out.Payload(e))
	if !s.touched {
		s.touched = true
		c.touched = append(c.touched, s)
	}
	return false
}

// Close lets sessions send what waits, for a while, and ends them.
func (c *carrier) Close() error {
	c.hall.close()
	return c.Carrier.Close()
}
