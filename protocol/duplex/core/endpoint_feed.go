package core

import (
	"net/netip"
	"time"

	"parley/internal/admission"
)

// HandleDatagram takes a datagram of the feed. It does not keep b. At a server, the Mux finds
// the connection of a datagram.
func (e *Endpoint) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	e.now = now
	var d Datagram
	ok := d.Parse(e.side.Other(), b)
	if e.state == StateClosed {
		return
	}
	if admission.Canon(from) != e.feed.peer {
		e.stats.FeedIn++
		e.stats.Stray++
		return
	}
	e.takeInOrder(now, &d, ok, b)
}

// handleFeed takes what was read of a datagram, if it could be.
func (e *Endpoint) handleFeed(now time.Time, d *Datagram, ok bool) {
	e.stats.FeedIn++
	switch {
	case !ok || e.cfg.rules.check(e.side.Other(), &d.Message) != nil:
		// "A code or SID that the schema does not know is an error on main […]; on feed the
		// datagram is dropped and counted."
		e.stats.Malformed++
	case e.refuse(d.Sequence):
	case d.Kind == KindFeedInitRep:
		e.handleFeedInitRep(now, d)
	case e.state != StateOpen:
		e.stats.OutOfState++
	case !e.inbox.hasRoom():
		e.stats.NoRoom++
	default:
		e.handleGame(now, d)
	}
}

// handleFeedInitRep takes the answer to a client's FEED_INIT: "until FEED_INIT_REP with
// the same token comes, then CONN_OK on main".
func (e *Endpoint) handleFeedInitRep(now time.Time, d *Datagram) {
	if e.state != StateJoining && e.state != StateOpen {
		e.stats.OutOfState++
		return
	}
	if d.Token != e.token {
		e.stats.Stray++
		return
	}
	f := &e.feed
	e.stats.FeedTaken++
	f.take(now, d.Sequence)
	if f.up {
		return
	}
	e.setUp(true)
	f.giveUp, f.nextInit, f.wait = time.Time{}, now.Add(keepAlive), keepAlive
	if e.state == StateJoining {
		e.enter(true)
	} else {
		e.signal(CodeConnOK)
	}
}

// handleGame takes a message of the game, for which there is room.
func (e *Endpoint) handleGame(now time.Time, d *Datagram) {
	switch d.Kind {
	case KindUpdate:
		if e.side == FromClient && !e.learn(now, &d.Message, Feed) {
			return
		}
		e.inbox.put(Event{Kind: EventUpdate, Channel: Feed, SID: d.SID}, d.Data, e.lender)
	case KindSignal:
		if d.Code < FirstSignal {
			e.stats.OutOfState++ // those of the dialect go over main
			return
		}
		e.tell(Event{Kind: EventSignal, Channel: Feed, Code: d.Code})
	case KindQuery:
		if !e.owe(Feed, &d.Message) {
			return
		}
	case KindReply:
		if !e.answered(Feed, &d.Message) {
			e.stats.Stray++ // "A reply without a query is an error on main and is counted on feed."
			return
		}
	}
	if e.state == StateClosed {
		e.stats.OutOfState++ // it was the one that filled our memory
		return
	}
	e.stats.FeedTaken++
	e.feed.take(now, d.Sequence)
}
