package picture

import (
	"time"

	"parley/play/message"
	"parley/protocol/stamp"
	"parley/world"
)

// Stamp reads what a server tells a spectator over stamp. Nothing can be sent. A packet has the server's time, of which ticks are made.
type Stamp struct {
	core   *Core
	first  uint64 // the time of the first packet, in µs
	begun  bool
	values []world.Value
}

// NewStamp makes a reader for a new connection of a core.
func NewStamp(c *Core) *Stamp {
	c.voice = nil
	return &Stamp{core: c}
}

// stampStart is the tick of the first packet: there are earlier ones, of packets that it has overtaken.
const stampStart = 1 << 10

// Read takes an event of the connection.
func (s *Stamp) Read(now time.Time, ev stamp.Event) {
	if ev.Kind != stamp.EventEntity {
		return
	}
	c := s.core
	if !s.begun {
		s.begun, s.first = true, ev.Time
		c.newest = max(c.newest, stampStart)
		s.first -= uint64(time.Duration(c.newest)*c.period) / 1000
	}
	tick := uint64(time.Duration(ev.Time-s.first)*time.Microsecond+c.period/2) / uint64(c.period)
	if tick > c.newest+maxRun*1000 { // no server's time does that
		return
	}
	// "Drop a record if its packet has a lower sequence number than the packet of the newest record of the same entity": samples are by
	// tick, and packets of one tick come in any order.
	s.values = c.records(tick, ev.Data, message.Little, s.values)
	c.hears(now, tick)
}
