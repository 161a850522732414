package duplex

import (
	"net/netip"
	"time"

	"parley/internal/stream"
	"parley/protocol/duplex/core"
)

// clientCore is a client's endpoint with its main: what a loop of the feed drives. All of it
// is owned by the loop.
type clientCore struct {
	*core.Endpoint
	main    stream.Dialed
	line    stream.Stream
	held    bool // bytes of main were not taken
	took    bool // some were, or main has ended
	over    bool // its end was seen
	wake    func()
	waiting map[uint32]chan<- Event
}

// Advance sets the time, and takes the bytes that came on main.
func (c *clientCore) Advance(now time.Time) {
	c.Endpoint.Advance(now)
	c.main.Turn(now, c)
}

// Opened is told that main can carry bytes.
func (c *clientCore) Opened(time.Time, stream.Stream) stream.Receiver { return c }

// Received gives the endpoint what came, as much as it has room for.
func (c *clientCore) Received(_ time.Time, b []byte) int {
	n := c.HandleBytes(c.Now(), b)
	c.held, c.took = n < len(b), n > 0
	return n
}

// Writable is told that the bytes of main were written.
func (c *clientCore) Writable(time.Time) { c.Written(c.Now()) }

// Ended is told that main has ended.
func (c *clientCore) Ended(_ time.Time, err error) {
	c.held, c.took = false, true
	c.HandleEnd(c.Now(), endText(err))
}

// PollEvent returns the next event for the program. A reply goes to the call of Query that waits for it.
func (c *clientCore) PollEvent() (Event, bool) {
	for {
		ev, ok := c.Endpoint.PollEvent()
		if !ok {
			if c.takesMore() {
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

// takesMore takes bytes that there was no room for, and reports whether there may be new events.
func (c *clientCore) takesMore() bool {
	if c.took = false; c.held {
		c.main.Turn(c.Now(), c)
	}
	return c.took
}

// PollTransmit writes what is due on main, and then returns the next datagram.
func (c *clientCore) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	for n := c.PollBytes(buf); n > 0; n = c.PollBytes(buf) { // which is free until there is a datagram
		c.line.Send(buf[:n])
		if c.line.Ready() {
			c.Written(c.Now())
		}
	}
	if c.State() == core.StateClosed && !c.over {
		c.over = true
		if c.Flushed() {
			c.line.Finish()
		} else {
			c.line.Cut()
		}
		c.wake() // the last bytes may just be written: the program is told in the next turn
	}
	return c.Endpoint.PollTransmit(buf)
}
