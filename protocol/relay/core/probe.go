package core

import "time"

// probes measure the path to a peer that gets unreliable packages, which nothing confirms. "Every reliable package is confirmed
// on receipt, held or not, repeats too": so a probe is an empty package with an id that the peer has confirmed before. Every client
// confirms it and delivers nothing, as it is a repeat. No package waits for it, as its id is not missing, and it is not
// resent: a lost probe costs the peer nothing. The first probes have ids of their own, which later ones repeat. They are as the empty packages
// that ask a silent peer whether it lives.
//
// A probe goes out ahead of a tick's packages, except for probesBehind. So what it waits for is the queue that earlier ticks have left, and its confirmation says that
// everything sent before it has arrived, or is lost.
type probes struct {
	list   [probeIDs]probe
	again  *probe        // is to be sent
	sent   uint64        // how many
	opened time.Duration // when the first were sent
	newest time.Duration // when the newest was
	bytes  int32         // that went out beside the engine since then
	place  uint8         // of the one whose turn it is

	// What their confirmations say.
	repeats bool          // the peer has confirmed a repeat
	ignored uint8         // repeats in a row that it did not confirm, before it has confirmed one
	loss    int32         // the part of probes that was lost of late, in 65,536ths
	lost    int32         // bytes that count as lost, and are told when a probe is
	least   time.Duration // the least round trip of late
	usual   time.Duration // what it is while nothing waits on the way
	spread  time.Duration // by how much round trips differ from that
	prompt  time.Duration // when the newest was sent that came back in time: those before it are late by bad luck
	overdue uint8         // how many since then are so late that they are lost, or something waits
	delayed bool          // the newest that was confirmed took calmWait longer than usual
	late    bool          // it took overdueWait longer
	calm    bool          // nothing waits on the way

	// What a tick may send while that is not known: see restrain.
	most    int32         // at first; 0 if that is over
	careful bool          // most grows slowly
	raised  time.Duration // when most was
	held    time.Duration // since when it is little, as too many probes are late; 0 if that is not so
	flow    flow          // of what was sent since

	echo   []byte        // a package that is sent again: see Peer.Repeat
	echoAt time.Duration // when; 0 if none is
}

// probe is an id that probes have.
type probe struct {
	number uint64
	at     time.Duration // when it was sent, in the time of Shared
	rested time.Duration // when it may be sent again
	bytes  int32         // that were sent before it and after the probe before it
	state  probeState
	first  bool // it is a new package, and the engine's
}

type probeState uint8

const (
	probeUnused probeState = iota
	probeFlying
	probeBack // it was confirmed
	probeLost
)

// budget returns how many bytes the tick that begins now may send, and whether a probe is to be sent: see Peer.Budget.
func (e *Endpoint) budget(now time.Time) (bytes int, probing bool) {
	e.now = now
	bytes = e.sender.Budget(now)
	if e.probes == nil {
		e.probes = &probes{opened: e.probeTime(), most: firstBytes}
		return min(bytes, firstBytes), e.firstProbes(now)
	}
	probing = e.probe(now)
	return e.probes.restrain(e, bytes), probing
}

// probeTime returns the time that probes keep.
func (e *Endpoint) probeTime() time.Duration { return e.now.Sub(e.shared.born) + 1 }

// beside counts a datagram of n bytes that is not the engine's.
func (e *Endpoint) beside(n int) {
	if p := e.probes; p != nil {
		p.bytes = min(p.bytes, mostBeside) + int32(n+ipBytes)
		e.sender.Beside(e.now, n-HeaderBytes)
	}
}

// firstProbes sends the probes that show how long an empty path takes. Until one of them is confirmed little else is sent: what is
// measured behind a queue does not tell the queue from the path.
func (e *Endpoint) firstProbes(now time.Time) bool {
	for i := range firstProbes {
		if !e.mayProbe() || !e.probeAnew(now, &e.probes.list[i]) {
			break
		}
	}
	return e.probes.sent > 0
}

// mayProbe reports whether a package may be sent that is not the application's.
func (e *Endpoint) mayProbe() bool { return e.state == StateOpen && !e.owes() && e.backlog.Len() == 0 }

// probe sends a probe if one is due, and there is something to learn from it. A peer that has yet to confirm something has the first ones for that.
func (e *Endpoint) probe(now time.Time) bool {
	p, at := e.probes, e.probeTime()
	p.calm = !p.expire(e, now) && !p.delayed && !e.sender.Narrow()
	every, few := probeEvery, int32(HeaderBytes+ipBytes) // of the probe before it
	if p.calm && at-p.opened > calmAfter && p.bytes < calmBytes {
		every, few = calmEvery, fewBytes
	}
	if p.bytes <= few || at-p.newest < every || !e.answered || !e.mayProbe() {
		return false
	}
	one := p.turn(at, e.sender.Next())
	switch {
	case one == nil:
		return false
	case one.state == probeBack:
		p.again = one
		return true
	}
	return e.probeAnew(now, one)
}

// probeAnew sends a probe with a new id.
func (e *Endpoint) probeAnew(now time.Time, one *probe) bool {
	number := e.sender.Next()
	if !e.toEngine(now, &outgoing{flags: packageFlags(Unordered, true)}) {
		return false
	}
	one.number, one.first = number, true
	e.probes.note(one, e.probeTime())
	return true
}

// probesBehind reports whether the next probe goes behind the tick's packages. Where somebody else fills the queue, nothing but loss says
// that too much is sent, and it is the last of a tick that find no place. Every other probe goes ahead all the same: behind a
// full queue none would come back, and what is lost would be known too late.
func (e *Endpoint) probesBehind() bool { return e.probes.sent%2 == 0 && e.sender.Competing() }

// transmit writes the probe that is to be sent.
func (p *probes) transmit(at time.Duration, buf []byte) int {
	one := p.again
	p.again, one.first = nil, false
	p.note(one, at)
	return len(appendHeader(buf[:0], packageFlags(Unordered, true), uint32(one.number)&MaxID))
}

// note notes that a probe goes out now.
func (p *probes) note(one *probe, at time.Duration) {
	one.state, one.at, one.bytes = probeFlying, at, p.bytes
	p.bytes, p.newest = 0, at
	p.sent++
}

// repeat has an unreliable package sent a few milliseconds from now, unless another one replaces it.
func (p *probes) repeat(e *Endpoint, payload []byte) bool {
	if p.loss < copyLoss && p.sent > copyProbes || e.sender.Narrow() {
		return false
	}
	p.echo, p.echoAt = append(p.echo[:0], payload...), e.probeTime()+copyAfter
	return true
}

// turn returns the next id that may be used, or a place for a new one. While something waits on the way there are no new ones, if others are left:
// they would be resent, and would say nothing.
func (p *probes) turn(at time.Duration, next uint64) *probe {
	var fresh *probe
	alive := 0
	for range p.list {
		one := &p.list[p.place]
		p.place = (p.place + 1) % probeIDs
		switch one.state {
		case probeFlying:
			alive++
		case probeLost:
			if at-one.at >= probeLife {
				fresh = one
			}
		case probeUnused:
			if p.calm && p.repeats {
				return one
			}
			fresh = one
		case probeBack:
			alive++
			if p.ignored >= shyProbes || next-one.number >= maxOutstanding {
				one.state = probeUnused // the peer does not confirm repeats, or may have forgotten the id
				return one
			}
			if at >= one.rested {
				return one
			}
		}
	}
	if alive >= firstProbes {
		return nil
	}
	return fresh
}
