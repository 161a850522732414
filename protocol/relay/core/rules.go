package core

import (
	"cmp"
	"math"
	"time"

	"parley/internal/reliable"
)

// Rules are the rules by which packages are kept, resent and given up. The zero Rules are those of docs/protocols/relay.md. A
// server's rules come from its Lobby, a client's from its Config. Rules must not be changed after use.
type Rules struct {
	// ConfirmAfter is how long confirmations are gathered before they are sent. Default 20 ms, at most 100 ms. If negative, they
	// are not gathered.
	ConfirmAfter time.Duration

	// ResendAfter is the delay of the first resend of a package, whatever the round-trip time. It doubles with each resend.
	// Default 0: the delay follows from the measured round-trip time.
	ResendAfter time.Duration

	// KeepAlive is how long a peer may be silent before it is sent an empty reliable package, whose confirmation shows that it
	// is alive. Default 2 s.
	KeepAlive time.Duration

	// Timeout is how long a peer may be silent. Default 10 s.
	Timeout time.Duration

	// HoleTimeout is how long a reliable package of a peer may be missing after later ones have come. Default 10 s. A client's
	// default is a minute, as the server does not give up a package while others are confirmed.
	HoleTimeout time.Duration

	// Grace limits how many bytes are sent to an address that is neither proven (Peer.Prove) nor loopback, private or
	// link-local: three for each byte that came from it, plus Grace. Default 8 KiB; negative means no limit.
	Grace int

	// Quiet keeps a server from telling peers that they were removed.
	Quiet bool

	// MaxBacklog bounds the bytes of reliable packages that wait because 1,024 ids of a peer are already unconfirmed. Beyond
	// it, a peer is removed from its room with ReasonSlow, and Send returns ErrBacklogFull. Default 256 KiB, at most 256 MiB.
	MaxBacklog int

	// RoomRate is how many packages a second are relayed in a room, counted once for each receiver. Each participant has an
	// equal share of it, and at least 60 packages a second. Another third of RoomRate is for participants that need more than
	// their share while others are idle. Default 120,000; negative means no limit.
	RoomRate int

	filled      bool
	rideAfterMS uint32 // milliseconds after a confirmation until the next may go along with a package at once
	send        *reliable.SendConfig
	recv        *reliable.ReceiveConfig
}

// fill returns a copy in which every field has its value.
func (r Rules) fill() *Rules {
	if r.filled {
		return &r
	}
	r.ConfirmAfter = cmp.Or(r.ConfirmAfter, 20*time.Millisecond)
	r.ConfirmAfter = min(max(r.ConfirmAfter, 0), maxConfirmAfter)
	r.KeepAlive = cmp.Or(r.KeepAlive, 2*time.Second)
	r.Timeout = cmp.Or(r.Timeout, 10*time.Second)
	r.HoleTimeout = cmp.Or(r.HoleTimeout, 10*time.Second)
	r.Grace = cmp.Or(r.Grace, 8<<10)
	r.MaxBacklog = min(cmp.Or(r.MaxBacklog, 256<<10), mostBacklog)
	r.RoomRate = cmp.Or(r.RoomRate, 120_000)
	if r.rideAfterMS = uint32(r.ConfirmAfter / time.Millisecond); r.ResendAfter > 0 {
		r.rideAfterMS = math.MaxUint32 // whoever fixes the delay expects quiet
	}
	r.send, r.recv = r.engineSend(), r.engineReceive()
	r.filled = true
	return &r
}

// engineSend says it to the engine: "Unconfirmed packages are resent after SRTT + 4·RTTVAR
// …, but not before 120 ms …; after 220 ms while no round trip is known …; doubling, with
// jitter; lost after 6 tries and not before 5 s".
func (r *Rules) engineSend() *reliable.SendConfig {
	c := reliable.SendConfig{
		Span:     maxOutstanding,
		MaxBytes: maxOutstandingBytes,
		FirstRTO: firstResendAfter,
		MinRTO:   leastResendAfter,
		VarFloor: -1,
		Overhead: HeaderBytes + ipBytes,
		Tries:    maxTries, GiveUpAfter: giveUpAfter, Patient: true,
		TimerOnly: true,
	}
	if r.ResendAfter > 0 {
		c.FirstRTO, c.MinRTO, c.MaxRTO = r.ResendAfter, r.ResendAfter, r.ResendAfter
		c.NoEarly, c.Patient = true, false // whoever fixes the delay expects quiet
	}
	return c.Filled()
}

// engineReceive says it to the engine: "A semi-ordered package is delivered after every
// reliable package with a smaller id. An unordered one is delivered at once. Holes are
// remembered, at most 1,024".
func (r *Rules) engineReceive() *reliable.ReceiveConfig {
	c := reliable.ReceiveConfig{
		MaxHoles: maxHoles, MaxHeld: maxHeldBytes, MaxReady: maxReadyBytes, Overhead: waitingBytes,
		AckDelay: r.ConfirmAfter, AckCount: maxGathered,
	}
	c.Rules[laneSemiOrdered-1] = reliable.Contiguous
	return c.Filled()
}
