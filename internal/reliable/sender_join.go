package reliable

import "time"

// This file is for a dialect that puts several packets into a datagram: the sender offers them one by one, and the dialect packs
// as many as fit. Between Begin and the next Begin all packets leave in one datagram.

const (
	// laterCopies is how many times as long as the first copy the next ones wait for a datagram that leaves anyway. They are for the
	// few packets whose first copy is lost as well, so they can wait for the next message of a game.
	laterCopies = 5

	// repeatWait is how long the acknowledgement of a copy waits for a datagram that leaves anyway: with an acknowledgement of its own for
	// each, copies that ride along would cost as many datagrams the other way. A game's next message leaves within this time. It matters only
	// if the first acknowledgement was lost. Then the packet may be resent in vain, which is less than a datagram for each copy.
	repeatWait = 16 * time.Millisecond

	// joinedBytes is what a packet behind others in a datagram takes besides its own bytes.
	joinedBytes = 2
)

// Bundle has packets share datagrams from now on. Then call Begin, Join, Ride and End instead of Poll.
func (s *Sender) Bundle() { s.bundles = true }

// Begin begins a datagram.
func (s *Sender) Begin() { s.joined, s.timed, s.copyLeads, s.told = false, false, false, 0 }

// Join returns the next packet to send, if it has at most room bytes. It goes out in the datagram that was begun last.
func (s *Sender) Join(now time.Time, room int) (Transmission, bool) {
	if s.resend.count|s.copies.count|s.later.count|s.waiting == 0 && !s.probeDue {
		return Transmission{}, false
	}
	if s.probeDue {
		return s.pollProbe(room)
	}
	at := s.at(now)
	if s.resend.count > 0 {
		if id, ok := s.pollResend(at, room); ok {
			return s.out(s.flights.at(id), true)
		}
	}
	if s.copies.count|s.later.count > 0 {
		if id, ok := s.pollCopies(at, room, false); ok {
			s.copyLeads = s.copyLeads || !s.joined
			return s.out(s.flights.at(id), true)
		}
	}
	if s.waiting == 0 {
		return Transmission{}, false
	}
	id, e := s.pollQueue(at, room)
	if e == nil {
		return Transmission{}, false
	}
	s.waiting--
	s.transmit(at, id, e)
	s.stats.First++
	return s.out(e, false)
}

// Ride returns a copy ahead of loss that has at most room bytes, although it is not due yet: the datagram that was begun last leaves anyway.
func (s *Sender) Ride(now time.Time, room int) (Transmission, bool) {
	if !s.early.on && s.copies.count|s.later.count == 0 {
		return Transmission{}, false
	}
	at := s.at(now)
	if !s.copyLeads {
		s.early.follows(at)
	}
	id, ok := s.pollCopies(at, room, true)
	if !ok {
		return Transmission{}, false
	}
	return s.out(s.flights.at(id), true)
}

// End ends a datagram of n bytes. Besides what Join and Ride returned, these are acknowledgements, unreliable packets, and what holds all of them
// together.
func (s *Sender) End(n int) {
	n += s.cfg.Overhead
	if s.timed {
		s.flights.at(s.lead).whole = uint16(n)
	}
	if s.path != nil {
		s.path.Sent(n - int(s.told))
	}
}

// cost returns what a flight takes on the path: the first packet of a datagram takes the headers.
func (s *Sender) cost(e *flight) int {
	if e.joined {
		return len(e.data) + joinedBytes
	}
	return len(e.data) + s.cfg.Overhead
}

// takeTx gives a transmission its place: that of its datagram.
func (s *Sender) takeTx(id uint32) uint64 {
	if !s.timed {
		s.timed, s.lead = true, id
		s.tx++
	}
	return s.tx - 1
}
