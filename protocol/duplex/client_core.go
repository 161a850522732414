package duplex

import (
	"net/netip"
	"sync"
	"time"

	"parley/protocol/duplex/core"
)

// clientCore is a client's endpoint with its main: what a loop of the feed drives. All of it
// is owned by the loop.
type clientCore struct {
	*core.Endpoint
	hub        hub
	line       *line
	came, sent []*line
	fresh      bool // line has bytes or an end that were not taken
	over       bool // its end was seen
	waiting    map[uint32]chan<- Event
	once       sync.Once // for those who close it together
}

// Advance sets the time, and takes the bytes that came on main.
func (c *clientCore) Advance(now time.Time) {
	c.Endpoint.Advance(now)
	c.came, c.sent = c.hub.take(c.came[:0], c.sent[:0], 1)
	for range c.sent {
		if err := c.line.writeEnd; err != nil {
			c.HandleEnd(c.Now(), endText(err))
		} else {
			c.Written(c.Now())
		}
	}
	c.fresh = c.fresh || len(c.came) > 0
	c.take()
}

// take gives the endpoint what came, as much as it has room for, and reports whether there
// may be new events.
func (c *clientCore) take() bool {
	if !c.fresh {
		return false
	}
	n := c.HandleBytes(c.Now(), c.line.bytes)
	if c.line.bytes = c.line.bytes[n:]; len(c.line.bytes) > 0 {
		return n > 0
	}
	c.fresh = false
	if c.line.end != nil {
		c.HandleEnd(c.Now(), endText(c.line.end))
		return true
	}
	c.line.release()
	return true
}

// PollEvent returns the next event for the program. A reply goes to the call of Query that waits for it.
func (c *clientCore) PollEvent() (Event, bool) {
	for {
		ev, ok := c.Endpoint.PollEvent()
		if !ok {
			if c.take() {
				continue
			}
			return ev, false
		}
		if ev.Kind != EventReply {
			return ev, true
		}
		if wait := c.waiting[ev.ID]; wait != nil {
			delete(c.waiting, ev.ID)
			wait <- owned(ev) // which has room for the one that comes
		}
	}
}

// PollTransmit writes what is due on main, and then returns the next datagram.
func (c *clientCore) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	for {
		b := c.hub.takeBuffer()
		n := c.PollBytes(b[:])
		if n == 0 {
			c.hub.writes.Put(b)
			break
		}
		if c.line.write(b, n) {
			c.Written(c.Now())
		}
	}
	if c.State() == core.StateClosed {
		c.line.close(c.Flushed())
		if !c.over {
			c.over = true
			c.hub.wake() // the last bytes may just be written: the program is told in the next turn
		}
	}
	return c.Endpoint.PollTransmit(buf)
}

// finish waits for the goroutines of main, when the loop has ended.
func (c *clientCore) finish() {
	c.once.Do(func() { c.line.close(false) })
	c.hub.finish()
}
