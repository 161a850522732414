package peers

import (
	"math/bits"
	"time"
)

// The modes of a package, as relay has them.
const (
	Unreliable = iota
	Unordered
	SemiOrdered
)

// Key tells a participant: its player in the world, and its connection at its node.
type Key struct {
	Player uint16
	Conn   uint32
}

// From is a participant of another node.
type From struct {
	Node uint64
	Key
}

// Config sets up a Link.
type Config struct {
	Node uint64 // this one

	// Take takes a package of another node's participant. It returns false if a reliable one has to wait: it is offered again. pressed says that
	// its sender sends more than its node takes. The payload is good until Take returns.
	Take func(from From, mode uint8, payload []byte, pressed bool) bool

	// Ended, if set, is called when a participant of another node says nothing any more.
	Ended func(from From)

	// Free, if set, is called when a participant of this node may send reliable packages again, after Send has returned true.
	Free func(k Key)

	// Missed, if set, is called when reliable packages to the participants here are lost for good.
	Missed func()
}

// Link is this node's end. One goroutine at a time calls it.
type Link struct {
	cfg   Config
	stats Stats

	nodes map[uint64]*node
	mask  uint64 // the slots of nodes that have participants

	local   int    // participants here
	turn    uint64 // how often there were some, or none any more
	out     map[Key]*sending
	flying  int // packages in out
	in      map[From]*receiving
	blocked int // of in
	owing   []*receiving

	messages [][]byte // the last is being made
	waiting  int      // bytes in them
	spare    [][]byte

	wake   time.Time // when HandleTimeout is to be called
	sayAt  time.Time
	lookAt time.Time
}

// node is another node that has said something lately.
type node struct {
	slot   int // -1 if it has no participants
	turn   uint64
	heard  time.Time
	echoes int // how often it has said that it waits for this node to confirm
}

// Stats count what became of packages.
type Stats struct {
	Sent     uint64 // of participants here, each once
	Again    uint64 // sent again
	Taken    uint64 // of participants elsewhere
	Repeats  uint64 // that were taken before
	Refused  uint64 // out of bounds
	Overflow uint64 // left out as too much waits for the carrier
	Missed   uint64 // how often packages were lost for good
	Bad      uint64 // messages that could not be read
}

// New returns a link that knows of no other node.
func New(now time.Time, c Config) *Link {
	return &Link{cfg: c, nodes: map[uint64]*node{}, out: map[Key]*sending{}, in: map[From]*receiving{}, wake: now, sayAt: now, lookAt: now}
}

// Stats returns the counters.
func (l *Link) Stats() Stats { return l.stats }

// Local says how many participants are here. Without any, packages of other nodes are of no use here. It reports whether others are to be told.
func (l *Link) Local(now time.Time, n int) (news bool) {
	if news = (n == 0) != (l.local == 0); news {
		l.turn++
		l.sayAt, l.wake = now, now
		for _, n := range l.nodes {
			n.echoes = 0
		}
		for _, r := range l.in {
			r.apart = true // what comes in between is not missed
		}
	}
	l.local = n
	return news
}

// NextTimeout returns when to call HandleTimeout. It is sooner after each other call.
func (l *Link) NextTimeout() time.Time { return l.wake }

func (l *Link) soon(at time.Time) {
	if at.Before(l.wake) {
		l.wake = at
	}
}

// HandleTimeout does what is due.
func (l *Link) HandleTimeout(now time.Time) {
	l.wake = now.Add(sayEach)
	if !now.Before(l.sayAt) {
		l.sayAt = now.Add(sayEach)
		l.say()
	}
	if !now.Before(l.lookAt) {
		l.lookAt = now.Add(lookEach)
		l.leaveSilent(now)
		l.resend(now)
		l.forget(now)
	}
	l.offerAgain(now)
	l.confirm()
	l.soon(l.sayAt)
	if l.flying > 0 || l.blocked > 0 {
		l.soon(l.lookAt)
	}
}

// meet notes that a node lives, and how many participants it has.
func (l *Link) meet(now time.Time, id uint64, participants int, turn uint64) {
	n := l.nodes[id]
	if n == nil {
		if participants == 0 || len(l.nodes) >= maxNodes {
			return
		}
		n = &node{slot: -1}
		l.nodes[id] = n
		l.soon(now)
		l.sayAt = now // it has just come: it is to know who is here
	}
	n.heard, n.turn = now, turn
	switch {
	case participants == 0:
		l.part(n)
	case n.slot < 0 && ^l.mask != 0:
		n.slot = bits.TrailingZeros64(^l.mask)
		l.mask |= 1 << n.slot
		for _, s := range l.out { // else a package that it did not get would look like one that it has missed
			for i := range s.list {
				s.list[i].waits |= 1 << n.slot
			}
		}
	}
}

// part has nobody wait for a node any more.
func (l *Link) part(n *node) {
	if n.slot < 0 {
		return
	}
	bit := uint64(1) << n.slot
	n.slot, l.mask = -1, l.mask&^bit
	for _, s := range l.out {
		for i := range s.list {
			s.list[i].waits &^= bit
		}
		l.shorten(s)
	}
}

// leaveSilent forgets nodes that say nothing.
func (l *Link) leaveSilent(now time.Time) {
	for id, n := range l.nodes {
		if now.Sub(n.heard) >= silentNode {
			l.part(n)
			delete(l.nodes, id)
		}
	}
}
