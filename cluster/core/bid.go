package core

import "time"

// bidAt is when a stage bids that goes on hearing nothing. A room that nobody has ever sequenced keeps nobody waiting.
func (r *Room) bidAt() time.Time {
	if at := r.heard.Add(r.patience()); r.nextBid.Before(at) {
		return at
	}
	return r.nextBid
}

func (r *Room) patience() time.Duration {
	if r.record.Node == 0 {
		return 0
	}
	return silence
}

// mayBid bids for a room that should have ticks and has none. First it asks the log: what was not told is no silence.
func (r *Room) mayBid(now time.Time) {
	if !r.awake || r.fetching || r.draining || now.Before(r.bidAt()) {
		return
	}
	if r.nextBid.Before(r.heard.Add(r.patience())) { // the first time: not all at once
		if r.nextBid = now.Add(time.Duration(r.cfg.Rand.Int64N(int64(bidSpread)))); r.record.Node != 0 {
			return
		}
	}
	r.role = bidding
	r.fetch(now)
}

// bid asks for the record, with the next epoch: for this node, or for the one that it gives the room to.
func (r *Room) bid(now time.Time) {
	node, epoch := r.cfg.Node, max(r.record.Epoch, r.reached)+1
	if r.role == giving {
		node = r.heir
	} else {
		r.epoch = epoch
	}
	r.want(now, Order{Kind: Bid, Node: node, Epoch: epoch, Revision: r.record.Revision})
}

// HandleRecord takes the room's record: the answer to Look and Bid, or what the store tells all nodes.
func (r *Room) HandleRecord(now time.Time, rec Record) {
	if r.role == stopped || rec.Revision < r.record.Revision {
		return
	}
	isNew := rec.Revision > r.record.Revision
	asked := r.answered(Look) || isNew && r.answered(Bid)
	r.record = rec
	makes := r.role == sequencing || r.role == giving || r.role == catching
	switch {
	case isNew && rec.Node == r.cfg.Node && !(makes && rec.Epoch == r.epoch):
		r.chosen(now, rec.Epoch)
	case isNew && makes && rec.Epoch > r.epoch:
		r.stepDown(now)
	case isNew && r.role == bidding:
		r.stats.LostBids++
		r.follow(now)
	case isNew && r.role == following: // it has its time to begin
		r.heard = now
	case asked && (r.role == bidding || r.role == giving): // what it wanted the record to be did not arrive
		r.bid(now)
	}
}

// chosen has this node make entries of an epoch: it has won, or another gave it the room.
func (r *Room) chosen(now time.Time, epoch uint64) {
	switch {
	case r.role == bidding && epoch == r.epoch:
		r.stats.Elections++
	default:
		r.stats.Taken++
	}
	r.epoch = epoch
	switch r.role {
	case loading: // HandleSnapshot goes on with it
	case sequencing: // it was deposed and chosen again, and has heard only of the latter
		r.stats.Deposed++
		r.load(now)
	default:
		r.role = catching
		r.fetch(now)
	}
}

// stepDown ends the part of a sequencer. What its own players asked for is asked of the next one.
func (r *Room) stepDown(now time.Time) {
	switch {
	case r.role == giving:
		r.stats.Given++
	case r.role == sequencing:
		r.stats.Deposed++
	}
	if r.flight != nil || r.ahead.some() { // whether the log has it is not known, and a world does not go back
		r.load(now)
		return
	}
	r.follow(now)
}

// follow runs what the log has, and leaves its making to others for a while.
func (r *Room) follow(now time.Time) {
	r.role, r.heard, r.moving = r.stage(), now, false
	r.in.clear()
	r.out.again(now)
	r.fetch(now)
}

// stage is what a node is that runs what the log has: if the room is still its own, it makes entries again when it has caught up.
func (r *Room) stage() role {
	if r.record.Node == r.cfg.Node && r.record.Epoch == r.epoch && r.epoch >= r.reached {
		return catching
	}
	return following
}
