package simnet

import "time"

// Shaper is one direction of a link on its own, for code that moves datagrams over a real network: it decides what
// becomes of them, and moves none. Its random draws come from the seed and the order of the calls. It is not safe
// for several goroutines.
type Shaper struct {
	link Link
}

// Arrival is one copy of a datagram that passed the link.
type Arrival struct {
	// At is the time of its arrival, on the clock of Pass.
	At time.Duration
	// Corrupt reports whether bits of it are to be flipped: see Shaper.Flip.
	Corrupt bool
}

// NewShaper returns a shaper. stream distinguishes shapers of one seed. It panics if the profile is not valid.
func NewShaper(seed, stream uint64, p Profile) *Shaper {
	s := new(Shaper)
	initLink(&s.link, nil, seed, stream, p)
	return s
}

// Profile returns the present profile of the shaper.
func (s *Shaper) Profile() Profile { return s.link.Profile() }

// SetProfile changes the shaper from now on. It panics if the profile is not valid.
func (s *Shaper) SetProfile(p Profile) { s.link.set(p) }

// Pass decides the fate of a datagram that is sent now. payload is the size of its payload in bytes. Pass
// appends the arrivals of the datagram to out: none if it is lost, two if it is duplicated. now is the time on
// the caller's clock, which must not go back.
func (s *Shaper) Pass(now time.Duration, payload int, out []Arrival) []Arrival {
	k := &s.link
	k.counts.send(payload)
	sentAt, fate := k.enter(int64(now), header4Bytes+payload)
	if fate != 0 {
		k.counts.end(fate, payload)
		return out
	}
	out = append(out, s.arrival(sentAt, payload, false))
	if k.chance(k.duplicate) {
		k.counts.duplicated++
		out = append(out, s.arrival(sentAt, payload, true))
	}
	return out
}

// PassAgain is Pass for a datagram that was lost and is sent again some time later: a burst that it was lost in is over
// for it, but not for the datagrams that follow the first.
func (s *Shaper) PassAgain(now time.Duration, payload int, out []Arrival) []Arrival {
	b := &s.link.burst
	bad := b.bad
	b.bad = false
	out = s.Pass(now, payload, out)
	b.bad = bad
	return out
}

func (s *Shaper) arrival(sentAt int64, payload int, isCopy bool) Arrival {
	k := &s.link
	at, heldBack := k.arrival(sentAt, isCopy)
	if heldBack {
		k.counts.reordered++
	}
	a := Arrival{At: time.Duration(at)}
	if payload > 0 && k.chance(k.corrupt) {
		a.Corrupt = true
		k.counts.corrupted++
	}
	k.counts.inFlight++
	return a
}

// Backlog returns how long a datagram sent now would wait in the queue. Code that can hold its sender back, as one for
// streams can, waits while this is long instead of calling Pass.
func (s *Shaper) Backlog(now time.Duration) time.Duration {
	return max(0, time.Duration(s.link.busyUntil)-now)
}

// Flip flips bits of b, as in a corrupt datagram.
func (s *Shaper) Flip(b []byte) { s.link.flip(b) }

// Arrived says that an arrival with a payload of that many bytes was delivered, so that Stats adds up.
func (s *Shaper) Arrived(payload int) {
	s.link.counts.inFlight--
	s.link.counts.end(FateDelivered, payload)
}

// Stats returns the counters of the datagrams so far.
func (s *Shaper) Stats() Stats { return s.link.counts.stats() }
