package core

import (
	"encoding/binary"
	"time"

	"parley/internal/clocksync"
)

// unwire returns the tick that the 16 bits of a message mean.
func (e *Endpoint) unwire(now time.Time, wire uint16) uint64 {
	return clocksync.Unwire(wire, e.tick(now))
}

// Clock estimates the server's clock from the answers of its time server: "the client keeps
// the sample with the least delay". The zero value is a clock that is not yet set.
type Clock struct {
	stamps    clocksync.OneWay   // version 9: one question, many times
	exchanges clocksync.FourTime // version 10: an answer to each question
	asked     time.Time          // when the present burst was asked for
	first     bool               // nothing of that burst has come yet
	epoch     time.Time
}

// AppendQuestion appends the question to the time server to b. It is empty in version 9 of the
// protocol, and 8 bytes that the answer repeats in version 10.
func (c *Clock) AppendQuestion(now time.Time, version uint16, b []byte) []byte {
	if c.epoch.IsZero() {
		c.epoch = now
	}
	if version < Version10 {
		c.asked, c.first = now, true
		return b
	}
	return binary.BigEndian.AppendUint64(b, uint64(now.Sub(c.epoch)))
}

// HandleAnswer takes a datagram of the time server, and reports whether it was a valid
// answer.
func (c *Clock) HandleAnswer(now time.Time, b []byte) bool {
	switch len(b) {
	case timeBytes:
		stamp := binary.BigEndian.Uint64(b)
		switch {
		case c.asked.IsZero():
			return false
		case c.first:
			c.first = false
			return c.stamps.Accept(c.asked, stamp, now)
		}
		return c.stamps.Stamp(now, stamp)
	case 2 * timeBytes:
		sent := time.Duration(binary.BigEndian.Uint64(b))
		stamp := binary.BigEndian.Uint64(b[timeBytes:])
		if c.epoch.IsZero() || sent < 0 || c.epoch.Add(sent).After(now) {
			return false
		}
		return c.exchanges.Add(clocksync.Exchange{Sent: c.epoch.Add(sent), PeerReceived: stamp, PeerSent: stamp, Received: now})
	}
	return false
}

// Synced reports whether an answer has set the clock.
func (c *Clock) Synced() bool { return c.exchanges.Synced() || c.stamps.Synced() }

// Time returns the server's clock in Unix µs, 0 before the first answer.
func (c *Clock) Time(now time.Time) uint64 {
	if c.exchanges.Synced() {
		return c.exchanges.Remote(now)
	}
	return c.stamps.Remote(now)
}

// ErrorBound returns the greatest possible error of Time.
func (c *Clock) ErrorBound(now time.Time) time.Duration {
	if c.exchanges.Synced() {
		return c.exchanges.ErrorBound(now)
	}
	return c.stamps.ErrorBound(now)
}
