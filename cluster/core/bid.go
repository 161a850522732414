package core

import "time"

// bidAt is when a stage bids that goes on hearing nothing.
func (r *Room) bidAt() time.Time {
	if at := r.heard.Add(silence); r.nextBid.Before(at) {
		return at
	}
	return r.nextBid
}

// mayBid bids for a room that should have ticks and has none. First it asks the log: what was not told is no silence.
func (r *Room) mayBid(now time.Time) {
	if !r.awake || r.fetching || now.Before(r.bidAt()) {
		return
	}
	if r.nextBid.Before(r.heard.Add(silence)) { // the first time: not all at once
		if r.nextBid = now.Add(time.Duration(r.cfg.Rand.Int64N(int64(bidSpread)))); r.record.Node != 0 {
			return
		}
	}
	r.role = bidding
	r.fetch(now)
}

// bid asks for the record, with the next epoch.
func (r *Room) bid(now time.Time) {
	r.epoch = max(r.record.Epoch, r.world.Epoch()) + 1
	r.want(now, Order{Kind: Bid, Epoch: r.epoch, Revision: r.record.Revision})
}

// HandleRecord takes the room's record: the answer to Look and Bid, or what the store tells all nodes.
func (r *Room) HandleRecord(now time.Time, rec Record) {
	if r.role == stopped || rec.Revision < r.record.Revision {
		return
	}
	isNew := rec.Revision > r.record.Revision
	asked := r.answered(Look) || isNew && r.answered(Bid)
	r.record = rec
	switch {
	case r.role == bidding && rec.Node == r.cfg.Node && rec.Epoch == r.epoch:
		r.stats.Elections++
		r.role = catching
		r.fetch(now)
	case r.role == bidding && isNew:
		r.stats.LostBids++
		r.role, r.heard = following, now
	case r.role == bidding && asked: // the bid did not arrive
		r.bid(now)
	case r.role == catching && rec.Epoch > r.epoch:
		r.role, r.heard = following, now
	case r.role == sequencing && rec.Epoch > r.epoch: // what its own players asked for is asked of the next one
		r.stats.Deposed++
		r.load(now)
	}
}
