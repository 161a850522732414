package udp

import (
	"sync/atomic"
	"time"
)

// parker lets a reader sleep in the runtime's network poller until a datagram, a time or
// another goroutine wakes it.
//
// The state word decides; the read deadline only ends the sleep (a nudge). A waker sets
// wokenUp. If that replaced parked, the waker must nudge, by a deadline in the past. The
// reader parks only by turning running into parked, which fails when a waker was there
// first, and it sets the deadline only before that. So a nudge can be overwritten only
// while the reader runs, and the reader then sees the state word before it parks again. A
// nudge that comes late costs one empty turn.
type parker struct {
	state atomic.Uint32
	sleep deadliner
	armed time.Time // owned by the reader: the earliest deadline set, zero if none
}

// deadliner is the part of *os.File that a parker needs.
type deadliner interface{ SetReadDeadline(time.Time) error }

const (
	running uint32 = iota // the reader is awake
	parked                // the reader is asleep or about to be
	wokenUp               // the reader must run a turn before it sleeps
)

// longAgo is the deadline that nudges.
var longAgo = time.Unix(1, 0)

// wake makes the reader run a turn. Any goroutine may call it.
func (p *parker) wake() {
	if p.state.Load() == wokenUp {
		return // the reader has not seen the last wake yet and will
	}
	if p.state.Swap(wokenUp) == parked {
		_ = p.sleep.SetReadDeadline(longAgo) // fails only when closed, which wakes too
	}
}

// enter prepares to sleep until the given time; zero means for ever. It reports false
// when a wake came first: then the reader must not sleep.
func (p *parker) enter(until time.Time) bool {
	// A deadline costs about 250 ns to set. A deadline that is armed too early costs one
	// empty turn when it comes, and is then set anew. Cores move their times to later
	// with almost every datagram, so that is far rarer than setting it each time.
	if !until.IsZero() && (p.armed.IsZero() || until.Before(p.armed)) {
		p.armed = until
		_ = p.sleep.SetReadDeadline(until)
	}
	return p.state.CompareAndSwap(running, parked)
}

// leave marks the reader awake and reports whether a wake came since the last
// leave.
func (p *parker) leave() bool {
	return p.state.Load() != running && p.state.Swap(running) == wokenUp
}

// disarm clears a deadline that has passed: until then, no read starts.
func (p *parker) disarm() {
	p.armed = time.Time{}
	_ = p.sleep.SetReadDeadline(time.Time{})
}
