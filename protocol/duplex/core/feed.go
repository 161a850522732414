package core

import (
	"encoding/binary"
	"net/netip"
	"time"

	"parley/internal/queue"
)

// feed is the state of the fast channel.
type feed struct {
	peer  netip.AddrPort // where it goes; at a server the zero one until its client asked
	sent  int64          // SEQ of the newest datagram sent
	last  int64          // of the newest taken
	heard time.Time      // when that was
	up    bool           // it carries updates
	said  bool           // at a server: its client says that it works
	bytes int32          // that went out since Conn.Pace, headers of UDP and IP included
	loose queue.Packets  // messages that wait for the socket
	again *again         // what is said once more; nil before there was something

	*search // a client's

	// A server's: until when the datagrams of a player who had this address before may still come.
	wary time.Time
}

// search is how a client looks for a feed, and what it has of it. A server's connections do without.
type search struct {
	nextInit time.Time     // when FEED_INIT is sent next
	wait     time.Duration // between the last two
	giveUp   time.Time     // when it joins without
	order    reorder       // what came too early
}

// The fates of a SEQ.
type verdict uint8

const (
	seqNew verdict = iota + 1
	seqLate
	seqTooFar
)

// judge says what to do with a datagram: "The receiver delivers a feed message only if its
// SEQ is greater than the last delivered one; others are counted as late. A SEQ more than
// 2^20 ahead is dropped; what is refused does not advance it."
func (f *feed) judge(sequence int64) verdict {
	switch {
	case sequence <= f.last:
		return seqLate
	case sequence-f.last > maxAhead: // both are positive: no overflow
		return seqTooFar
	}
	return seqNew
}

// take notes that a datagram was taken.
func (f *feed) take(now time.Time, sequence int64) { f.last, f.heard = sequence, now }

// refuse counts a SEQ that is not new, and reports whether it is not.
func (e *Endpoint) refuse(sequence int64) bool {
	verdict := e.feed.judge(sequence)
	if sequence-e.feed.last > maxWaryAhead && e.now.Before(e.feed.wary) {
		verdict = seqTooFar
	}
	switch verdict {
	case seqLate:
		e.stats.Late++
		return true
	case seqTooFar:
		e.stats.TooFar++
		return true
	}
	return false
}

// putFeed queues a message for the feed. What waits too long makes room.
func (e *Endpoint) putFeed(m *Message) {
	e.feed.loose.Put(m.AppendTo(e.lender.Take(messageRoom + len(m.Data))[:0]))
	for e.feed.loose.Held() > maxLooseBytes && e.feed.loose.Len() > 1 {
		e.stats.LooseLost++
		e.feed.loose.Drop(e.lender)
	}
}

// PollTransmit writes the next datagram of the feed into buf, which has at least
// MaxDatagram bytes, and returns its address.
func (e *Endpoint) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if e.state == StateClosed || !e.feed.peer.IsValid() {
		return 0, netip.AddrPort{}, false
	}
	n, ok := e.feed.loose.MoveTo(buf[HeaderBytes:], e.lender)
	if !ok {
		if n, ok = e.nextUpdate(buf[HeaderBytes:]); !ok {
			return 0, netip.AddrPort{}, false
		}
	}
	// "SEQ is the sequence number, encoded as a long, it is incremented by one for each
	// message sent." (feed channel)
	e.feed.sent++
	binary.BigEndian.PutUint64(buf, Magic)
	binary.BigEndian.PutUint64(buf[8:], uint64(e.feed.sent))
	e.stats.FeedOut++
	e.feed.bytes = min(e.feed.bytes+int32(datagramBytes+HeaderBytes+n), mostBeside)
	return HeaderBytes + n, e.feed.peer, true
}

// setUp notes whether there is a feed, and tells it.
func (e *Endpoint) setUp(up bool) {
	if e.feed.up == up {
		return
	}
	if e.feed.up = up; !up {
		e.stats.FeedsLost++
	}
	if e.view != nil && e.state == StateOpen {
		e.view.turn(up)
	}
	if e.state == StateOpen {
		e.tell(Event{Kind: EventFeed, Channel: Feed, Up: up})
	}
}

// feedTimeout does what is due on the feed.
func (e *Endpoint) feedTimeout(now time.Time) {
	f := &e.feed
	if f.again != nil && f.again.due(now) && f.up && e.state == StateOpen {
		e.putFeed(&Message{Kind: KindUpdate, SID: f.again.sid, Data: f.again.data})
	}
	// "a feed silence of 10 s, after which the feed must be initialised again"
	if f.up && now.Sub(f.heard) >= e.cfg.FeedTimeout {
		e.setUp(false)
		if e.side == FromClient {
			e.signal(CodeConnFailed)
			f.nextInit, f.wait = now, 0
		}
	}
	if e.side == FromServer {
		return
	}
	e.takeDue(now)
	// "after 5 s without a reply it sends CONN_FAILED and goes on with main alone"
	if !f.giveUp.IsZero() && !now.Before(f.giveUp) {
		f.giveUp = time.Time{}
		e.enter(false)
	}
	if !f.nextInit.IsZero() && !now.Before(f.nextInit) {
		e.feedInit(now)
	}
}

// feedInit asks for the feed, or keeps it alive.
func (e *Endpoint) feedInit(now time.Time) {
	f := &e.feed
	e.putFeed(&Message{Kind: KindFeedInit, Player: e.player, Token: e.token})
	longest := maxInitRepeat
	if e.state == StateOpen {
		longest = keepAlive // it goes on without one: there is no hurry
	}
	switch {
	case f.up:
		f.wait = keepAlive
	case f.wait == 0:
		f.wait = initRepeat
	default:
		f.wait = min(f.wait+f.wait/2, longest)
	}
	// A little chance keeps a crowd that lost its feeds together from asking together.
	f.nextInit = now.Add(f.wait - f.wait/8 + time.Duration(e.rand.Int64N(int64(f.wait/8))))
}
