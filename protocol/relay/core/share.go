package core

import (
	"time"

	"parley/internal/serial"
)

// meter is a token bucket, kept as the time at which it would be full again.
type meter struct{ full time.Duration }

// may reports whether one more may pass, of those that cost a time each and of which a burst may pass at once.
func (m *meter) may(at, burst time.Duration) bool { return m.full-at <= burst }

// charge notes that one has passed.
func (m *meter) charge(at, each, most time.Duration) { m.full = min(max(m.full, at)+each, at+most) }

// wait returns when one more may pass.
func (m *meter) wait(burst time.Duration) time.Duration { return m.full - burst }

// "Each participant has a share of the room's rate": mayPass reports whether one more package of a participant may be
// passed on. Each may send its share whatever the others do, and all together as much more as is idle.
func (r *Room) mayPass(p *Peer) bool {
	if r.mux.rules.RoomRate < 0 {
		return true
	}
	at := r.at()
	return p.share.may(at, ownBurst) || r.idle.may(at, idleBurst)
}

// passes charges a package that is passed on.
func (r *Room) passes(p *Peer) {
	rate := r.mux.rules.RoomRate
	if rate < 0 {
		return
	}
	at, others, receivers := r.at(), time.Duration(r.others()), time.Duration(max(len(r.members)-1, 1))
	if p.share.may(at, ownBurst) {
		each := receivers * (others + 1) * time.Second / time.Duration(rate)
		p.share.charge(at, min(each, time.Second/leastShare), 2*ownBurst)
	}
	r.idle.charge(at, receivers*idlePart*time.Second/time.Duration(rate), 2*idleBurst)
}

// others returns how many share with each participant of the room what there is: the others, on whichever server.
func (r *Room) others() int { return max(len(r.members)+r.remotes-1, 1) }

func (r *Room) at() time.Duration { return r.mux.now.Sub(r.mux.born) }

// mustWait reports whether the reliable packages of the peer are left where they are for now: those that it sends
// past its share, or that its line at a receiver has no room for. There they fill its own queue, and
// then are not confirmed.
func (p *Peer) mustWait() bool {
	p.wakeAt = 0
	switch {
	case p.waitsFor > 0:
		return true
	case p.room == nil || p.end.state == StateClosed || p.room.mayPass(p):
		return false
	}
	p.wakeAt = min(p.share.wait(ownBurst), p.room.idle.wait(idleBurst)) + 1
	return true
}

// isTooMuch reports whether a datagram is a reliable package that is to come again, as the peer has to wait and enough of
// it waits. One a second is taken whatever the receivers do, of all the one that comes next: a sender counts the tries of its
// oldest package, and gives us up when none of them is confirmed. Of a peer that had to wait lately no more is taken behind a missing package either:
// all of that would wait at once when the missing one comes, and then nothing could be taken for long.
func (p *Peer) isTooMuch(b []byte) bool {
	if !p.end.hold && p.end.rare == nil || p.end.receiver.WaitingBytes() < maxReadyBytes/2 {
		return false
	}
	now := p.port.mux.now
	if !p.end.hold && now.Sub(p.end.refusedAt) >= refusedLately {
		return false
	}
	var d Datagram
	if !d.Parse(b) || d.Kind != KindPackage || !d.Mode.Reliable() {
		return false
	}
	n, r := serial.Bits24.Unwrap(p.end.near, d.ID), p.end.seldom()
	next := n == p.end.receiver.Complete()
	switch {
	case !p.end.receiver.Fresh(n), next && !p.end.hold:
		return false
	case next && now.Sub(r.tookAt) >= takeEvery:
		r.tookAt = now
		return false
	}
	r.refusedAt = now
	return true
}

// nextTimeout returns when to call the endpoint's HandleTimeout next.
func (p *Peer) nextTimeout() (time.Time, bool) {
	at, ok := p.end.NextTimeout()
	if p.wakeAt == 0 || p.end.state == StateClosed {
		return at, ok
	}
	if wake := p.port.mux.born.Add(p.wakeAt); !ok || wake.Before(at) {
		return wake, true
	}
	return at, ok
}

// overdrawn reports whether a datagram is an unreliable package to the others that the peer has no share left
// for, and charges it if not. It is asked before anything else is done for the datagram.
func (p *Peer) overdrawn(b []byte) bool {
	if p.room == nil || len(b) <= HeaderBytes || len(b) > MaxDatagram || b[0]&0xf0 != 0 || p.end.state != StateOpen {
		return false
	}
	if !p.room.mayPass(p) {
		return true
	}
	p.room.passes(p)
	return false
}

// dropLoose counts an unreliable package that is not passed on. It is a sign of life.
func (p *Peer) dropLoose(now time.Time, b []byte) {
	p.end.now = now
	p.end.stats.In++
	p.end.stats.Loose++
	p.end.stats.LooseOver++
	p.end.allowance.Received(len(b))
	var d Datagram
	d.Parse(b)
	p.end.noteLoose(&d)
	p.end.hears(now)
}
