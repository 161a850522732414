package simnet

import (
	"fmt"
	"time"
)

// Profile is what one direction of a link does to datagrams. The zero Profile is a perfect link: nothing is lost and
// everything arrives at the instant it was sent.
//
// The parts apply to a datagram in this order: MTU, then the queue and Rate, then Loss and Burst, then Duplicate,
// then for each copy Corrupt, Delay, Jitter and Reorder. So a lost datagram has used the link's rate, as on a radio
// link, and an extra copy has not.
type Profile struct {
	// Delay is the time from the last bit sent to the arrival.
	Delay time.Duration

	// Jitter adds a random time from 0 to Jitter, evenly distributed, to each datagram. So datagrams may overtake each
	// other, unless KeepOrder is set.
	Jitter time.Duration

	// KeepOrder makes a datagram arrive no sooner than the one before it on the same link, as behind a queue. Datagrams
	// that Reorder or Duplicate holds back are excepted.
	KeepOrder bool

	// Loss is the probability that a datagram is lost, independent of others.
	Loss float64

	// Burst, if not nil, loses datagrams in bursts, in addition to Loss.
	Burst *Gilbert

	// Duplicate is the probability that a datagram arrives twice. The copy has a jitter of its own.
	Duplicate float64

	// Corrupt is the probability that a datagram arrives with one to seven of its bits flipped. A real network drops
	// most such datagrams by their checksum; this models the others.
	Corrupt float64

	// Reorder is the probability that a datagram is held back for a time between 0 and ReorderBy on top of its delay.
	Reorder   float64
	ReorderBy time.Duration

	// Rate is in bits a second; 0 means no limit. The 28 bytes of IPv4 and UDP headers (48 for IPv6) count.
	Rate int

	// Queue is how long a datagram may wait for those before it at Rate. A datagram that would wait longer is
	// dropped. Zero means DefaultQueue. Negative means no queue: datagrams that arrive while the link is busy are dropped.
	Queue time.Duration

	// MTU is the size of the largest IP packet, headers included; 0 means no limit. A larger one is dropped without
	// notice, as on a path that drops the ICMP message.
	MTU int
}

// DefaultQueue is the queue of a link with a rate whose profile says nothing of a queue: the order of magnitude of a home
// router's.
const DefaultQueue = 200 * time.Millisecond

// Gilbert is the Gilbert–Elliott model of losses that come in bursts: a link is good or bad, and this state may
// change before each datagram. A burst lasts 1/BadToGood datagrams on average, and GoodToBad/(GoodToBad+BadToGood)
// of all datagrams meet a bad link. It counts datagrams, not time.
type Gilbert struct {
	GoodToBad, BadToGood float64 // probability of a change, for each datagram
	LossGood, LossBad    float64 // probability of loss in each state
}

// Validate returns an error if the profile is not valid. Network panics on such a profile, so call Validate for
// profiles from outside the program.
func (p Profile) Validate() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"loss", p.Loss}, {"duplicate", p.Duplicate}, {"corrupt", p.Corrupt}, {"reorder", p.Reorder}} {
		if !isProbability(f.value) {
			return fmt.Errorf("simnet: profile: %s %v is not between 0 and 1", f.name, f.value)
		}
	}
	if g := p.Burst; g != nil {
		for _, v := range []float64{g.GoodToBad, g.BadToGood, g.LossGood, g.LossBad} {
			if !isProbability(v) {
				return fmt.Errorf("simnet: profile: burst: %v is not between 0 and 1", v)
			}
		}
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"delay", p.Delay}, {"jitter", p.Jitter}, {"reorder by", p.ReorderBy}, {"queue", max(p.Queue, 0)}} {
		if f.value < 0 || f.value > maxDelay {
			return fmt.Errorf("simnet: profile: %s %v is not between 0 and %v", f.name, f.value, maxDelay)
		}
	}
	if p.Rate < 0 || p.MTU < 0 {
		return fmt.Errorf("simnet: profile: rate %d or mtu %d is negative", p.Rate, p.MTU)
	}
	return nil
}

func isProbability(p float64) bool { return p >= 0 && p <= 1 }
