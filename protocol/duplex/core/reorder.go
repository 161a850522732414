package core

import (
	"slices"
	"time"

	"parley/internal/lend"
)

// reorder puts the datagrams of a client's feed in order: "The receiver delivers a feed message only if its SEQ is greater than the last delivered one". Where
// datagrams overtake each other, most of those that a server sends at once would be dropped. So one that came too early waits for those before it, for as long
// as these are known to be late. On a path that keeps the order nothing ever waits. The zero value is ready.
type reorder struct {
	held []heldDatagram // by SEQ
	came time.Time      // when the newest that was taken did
	wait time.Duration  // how late datagrams come; 0 if they do not
}

type heldDatagram struct {
	sequence int64
	at       time.Time // when it came
	bytes    []byte
}

const (
	// maxReorder is how long a datagram waits at most. It is a bound for what somebody can do who sends old datagrams again, and for what a player feels:
	// what is later than that is late.
	maxReorder = 10 * time.Millisecond

	// leastReorder is the least that is worth a timer.
	leastReorder = 500 * time.Microsecond

	// reorderMemory is how many datagrams later the wait is a third of what it was, if no datagram is as late any more.
	reorderMemory = 1024

	// maxReordered bounds the datagrams that wait, so that there is room in the inbox for all of them. The first goes to the game when there are more.
	maxReordered = 48
)

// takeInOrder takes what was read of a datagram, if it could be, when its turn has come.
func (e *Endpoint) takeInOrder(now time.Time, d *Datagram, ok bool, b []byte) {
	if e.feed.search == nil || !ok || e.state != StateOpen {
		e.handleFeed(now, d, ok)
		return
	}
	o, ahead := &e.feed.order, d.Sequence-e.feed.last
	o.learn(now, d.Sequence, ahead <= 0)
	if ahead <= 1 || ahead > maxAhead || o.wait < leastReorder {
		if e.handleFeed(now, d, true); ahead > 0 {
			o.came = now
		}
	} else {
		i, _ := slices.BinarySearchFunc(o.held, d.Sequence, func(h heldDatagram, sequence int64) int { return int(h.sequence - sequence) })
		held := heldDatagram{d.Sequence, now, append(e.lender.Take(len(b))[:0], b...)}
		if o.held = slices.Insert(o.held, i, held); len(o.held) > maxReordered {
			e.takeHeld(now, 1)
		}
	}
	e.takeDue(now)
}

// learn notes how late a datagram is: as long as one with a greater SEQ has been here.
func (o *reorder) learn(now time.Time, sequence int64, late bool) {
	before := now
	if late {
		before = o.came
	}
	for i := range o.held {
		if h := &o.held[i]; h.sequence > sequence && h.at.Before(before) {
			before = h.at
		}
	}
	o.wait -= o.wait / reorderMemory
	if by := now.Sub(before); by+by/4 > o.wait && by <= maxReorder {
		o.wait = min(by+by/4, maxReorder) // the next may be a little later
	}
}

// takeDue takes the datagrams that wait for nothing any more: those before them have come, or would be too late.
func (e *Endpoint) takeDue(now time.Time) {
	o := &e.feed.order
	n := 0
	for i := range o.held {
		if now.Sub(o.held[i].at) >= o.wait {
			n = i + 1
		}
	}
	e.takeHeld(now, n)
	for len(o.held) > 0 && o.held[0].sequence <= e.feed.last+1 {
		e.takeHeld(now, 1)
	}
}

// takeHeld takes the first n datagrams that wait, unless one of them ends the connection.
func (e *Endpoint) takeHeld(now time.Time, n int) {
	o := &e.feed.order
	for ; n > 0 && len(o.held) > 0; n-- {
		h := o.held[0]
		o.held = slices.Delete(o.held, 0, 1)
		var d Datagram
		ok := d.Parse(e.side.Other(), h.bytes)
		e.handleFeed(now, &d, ok)
		if h.at.After(o.came) {
			o.came = h.at
		}
		e.lender.Give(h.bytes)
	}
}

// due returns when a datagram has waited long enough, the zero time if none waits.
func (o *reorder) due() (at time.Time) {
	for i := range o.held {
		if until := o.held[i].at.Add(o.wait); at.IsZero() || until.Before(at) {
			at = until
		}
	}
	return at
}

// clear drops all that wait.
func (o *reorder) clear(lender *lend.Buffers) {
	for i := range o.held {
		lender.Give(o.held[i].bytes)
	}
	o.held = nil
}
