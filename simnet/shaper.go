package simnet

import "time"

// Shaper is one direction of a link by itself, for who moves datagrams of a real network through it: it decides, and
// moves nothing. The draws come from the seed and the order of the calls. It is not safe for several goroutines.
type Shaper struct {
	link Link
}

// Arrival is one copy of a datagram that came through.
type Arrival struct {
	// At is when it arrives, on the clock of the Pass that it came from.
	At time.Duration
	// Corrupt is whether bits of it are to be flipped: see Shaper.Flip.
	Corrupt bool
}

// NewShaper makes a shaper; stream tells apart those of one seed. It panics if the profile is not valid.
func NewShaper(seed, stream uint64, p Profile) *Shaper {
	s := new(Shaper)
	initLink(&s.link, nil, seed, stream, p)
	return s
}

// Profile is the profile that the shaper has now.
func (s *Shaper) Profile() Profile { return s.link.Profile() }

// SetProfile changes the shaper from now on. It panics if the profile is not valid.
func (s *Shaper) SetProfile(p Profile) { s.link.set(p) }

// Pass decides what becomes of a datagram with so many bytes of payload that is sent now, and appends its arrivals to
// out: none if it is lost, two if it is duplicated. The clock of now is the caller's and does not go back.
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

// Flip flips bits of b, as a corrupt datagram has it.
func (s *Shaper) Flip(b []byte) { s.link.flip(b) }

// Arrived tells that an arrival of so many bytes was delivered, so that Stats adds up.
func (s *Shaper) Arrived(payload int) {
	s.link.counts.inFlight--
	s.link.counts.end(FateDelivered, payload)
}

// Stats counts what became of the datagrams so far.
func (s *Shaper) Stats() Stats { return s.link.counts.stats() }
