package reliable

import "fmt"

// SendStats counts what became of a Sender's packets and acknowledgements. Each ends in
// exactly one counter: see Sender.Check.
type SendStats struct {
	Accepted  uint64 // reliable packets taken by Send
	Acked     uint64 // acknowledged for the first time
	Lost      uint64 // reported lost to their owner
	Abandoned uint64 // unacknowledged at Close or give-up

	Transmitted uint64 // packets put into datagrams: the sum of the five below
	First       uint64 // first transmissions
	Resent      uint64 // by timer
	FastResent  uint64 // because later packets were acknowledged first, or the peer was heard again
	Copies      uint64 // early resends
	Probes      uint64 // resends of the newest packet, when the window is used up

	CopiesDenied uint64 // early resends beyond their share of the bandwidth
	CopiesSaved  uint64 // early resends that an acknowledgement made needless
	WindowFull   uint64 // refusals to the caller

	AcksIn     uint64 // the sum of the three below
	AcksNew    uint64
	AcksRepeat uint64 // of numbers acknowledged or dropped before
	AcksUnsent uint64 // of numbers that were never sent: a lie, ignored
}

// ReceiveStats counts what became of a Receiver's packets. Each ends in exactly one
// counter: see Receiver.Check.
type ReceiveStats struct {
	In        uint64 // the sum of all below except Crowded, AcksOut and AcksForgotten, plus the packets held or ready
	Delivered uint64 // taken by the application
	Repeat    uint64 // received before
	Stale     uint64 // too old to know
	TooFar    uint64 // too far ahead of the newest
	Refused   uint64 // beyond a limit, not acknowledged
	Crowded   uint64 // the part of Refused for which other connections left no room
	Violation uint64 // against the rules of the order
	Skipped   uint64 // came after its place was given up
	Outdated  uint64 // older than the newest delivered
	Discarded uint64 // held or ready at Close

	AcksOut       uint64 // acknowledgements handed out
	AcksForgotten uint64 // never sent, as too many were due
}

// Stats are the counters of one connection, both ways.
type Stats struct {
	SendStats
	ReceiveStats
}

// check returns an error if the sums do not match, given the number of packets in flight.
func (s *SendStats) check(inFlight int) error {
	if got := s.Acked + s.Lost + s.Abandoned + uint64(inFlight); got != s.Accepted {
		return fmt.Errorf("reliable: accepted %d packets, but know the fate of %d", s.Accepted, got)
	}
	if got := s.First + s.Resent + s.FastResent + s.Copies + s.Probes; got != s.Transmitted {
		return fmt.Errorf("reliable: transmitted %d datagrams, but know the cause of %d", s.Transmitted, got)
	}
	if got := s.AcksNew + s.AcksRepeat + s.AcksUnsent; got != s.AcksIn {
		return fmt.Errorf("reliable: got %d acknowledgements, but know the use of %d", s.AcksIn, got)
	}
	return nil
}

// check returns an error if the sums do not match, given the number of packets that wait.
func (s *ReceiveStats) check(waiting int) error {
	got := s.Delivered + s.Repeat + s.Stale + s.TooFar + s.Refused + s.Violation +
		s.Skipped + s.Outdated + s.Discarded + uint64(waiting)
	if got != s.In {
		return fmt.Errorf("reliable: received %d packets, but know the fate of %d", s.In, got)
	}
	return nil
}
