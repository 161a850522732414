package simnet

import "fmt"

// Fate is the end of a datagram, or of one copy of it.
type Fate uint8

const (
	FateDelivered Fate = iota + 1 // handed to the node
	FateLost                      // Profile.Loss
	FateBurst                     // Profile.Burst
	FateQueue                     // the queue of a link with a rate was full
	FateMTU                       // larger than the link's MTU
	FatePartition                 // sent while a partition cut the path
	FateNoHost                    // no host has the address (any more), or the Conn is closed
	FateDown                      // the host was crashed when it arrived
	FateFiltered                  // a Filter dropped it
	FateOverflow                  // the read buffer of a Conn was full, or a Live had too many in flight
	numFates
)

var fateNames = [numFates]string{
	"unset", "delivered", "lost", "burst", "queue", "mtu", "partition", "nohost", "down", "filtered", "overflow",
}

// String returns one lower-case word, the same as in the trace.
func (f Fate) String() string {
	if f >= numFates {
		return fmt.Sprintf("fate(%d)", uint8(f))
	}
	return fateNames[f]
}

// Stats counts every fate of a datagram. Sent + Duplicated is always the sum of the fates and InFlight.
type Stats struct {
	Sent       uint64 // datagrams that nodes sent, injected ones included
	SentBytes  uint64 // their payloads
	Duplicated uint64 // copies that the network made

	Delivered      uint64 // FateDelivered
	DeliveredBytes uint64
	Lost           uint64 // FateLost
	LostInBurst    uint64 // FateBurst
	QueueFull      uint64 // FateQueue
	TooBig         uint64 // FateMTU
	Partitioned    uint64 // FatePartition
	NoHost         uint64 // FateNoHost
	HostDown       uint64 // FateDown
	Filtered       uint64 // FateFiltered
	Overflowed     uint64 // FateOverflow
	InFlight       uint64 // in flight now

	// These two are not fates: each such datagram has one of the fates above too.
	Corrupted uint64 // bits were flipped
	Reordered uint64 // held back by Profile.Reorder
}

// Dropped returns the sum of all fates but delivery.
func (s Stats) Dropped() uint64 {
	return s.Lost + s.LostInBurst + s.QueueFull + s.TooBig + s.Partitioned + s.NoHost + s.HostDown + s.Filtered + s.Overflowed
}

// Balance returns an error if a datagram is not accounted for. That is a bug of simnet.
func (s Stats) Balance() error {
	in, out := s.Sent+s.Duplicated, s.Delivered+s.Dropped()+s.InFlight
	if in != out {
		return fmt.Errorf("simnet: %d datagrams in but %d accounted for: %+v", in, out, s)
	}
	return nil
}

// counts is what Stats is made from: an array, so that a fate is one increment. inFlight is counted by itself, and not
// as what the others leave over: else Balance could never fail.
type counts struct {
	sent, sentBytes      uint64
	duplicated           uint64
	deliveredBytes       uint64
	corrupted, reordered uint64
	inFlight             uint64
	fates                [numFates]uint64
}

func (c *counts) send(bytes int) {
	c.sent++
	c.sentBytes += uint64(bytes)
}

func (c *counts) end(f Fate, bytes int) {
	c.fates[f]++
	if f == FateDelivered {
		c.deliveredBytes += uint64(bytes)
	}
}

func (c *counts) stats() Stats {
	return Stats{
		Sent: c.sent, SentBytes: c.sentBytes, Duplicated: c.duplicated,
		Delivered: c.fates[FateDelivered], DeliveredBytes: c.deliveredBytes,
		Lost: c.fates[FateLost], LostInBurst: c.fates[FateBurst], QueueFull: c.fates[FateQueue],
		TooBig: c.fates[FateMTU], Partitioned: c.fates[FatePartition], NoHost: c.fates[FateNoHost],
		HostDown: c.fates[FateDown], Filtered: c.fates[FateFiltered], Overflowed: c.fates[FateOverflow],
		InFlight: c.inFlight, Corrupted: c.corrupted, Reordered: c.reordered,
	}
}
