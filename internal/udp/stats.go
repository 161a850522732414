package udp

import "sync/atomic"

// Stats counts every fate of a datagram at one socket since it was opened.
//
// A datagram given to Write counts in exactly one of OutDatagrams and OutLost.
// A datagram that the kernel gave to Read counts in exactly one of InDatagrams and InTruncated.
type Stats struct {
	InDatagrams uint64 // delivered to the reader
	InBytes     uint64 // payload of those
	InBatches   uint64 // system calls that brought at least one
	InJoined    uint64 // of InDatagrams, how many came joined with others (GRO)
	InTruncated uint64 // larger than Config.MaxDatagram, not delivered
	InGathers   uint64 // times that the reader waited for more: see Config.Gather
	InDropped   uint64 // lost before Read because the receive buffer was full

	OutDatagrams uint64 // taken by the kernel
	OutBytes     uint64 // payload of those
	OutBatches   uint64 // system calls that took at least one
	OutJoined    uint64 // of OutDatagrams, how many left joined with others (GSO)
	OutLost      uint64 // given up because of an error; OutFaults says which
	OutWaits     uint64 // times that Write waited for room in the send buffer

	// InFaults and OutFaults count the times that the system reported each
	// transient error. One report may cost no datagram (the call was repeated)
	// or several (a joined group).
	InFaults, OutFaults Faults
}

// Faults counts transient errors, indexed by Fault.
type Faults [faultCount]uint64

// Total returns the sum of all faults.
func (f *Faults) Total() (n uint64) {
	for _, c := range f {
		n += c
	}
	return n
}

// Each yields the number of each fault.
func (f Faults) Each(yield func(n uint64, labels ...string)) {
	for fault := Fault(1); fault < faultCount; fault++ {
		yield(f[fault], fault.String())
	}
}

// counters are a socket's counters. They are updated once per batch, not once per
// datagram: an atomic addition costs as much as the copy of a small datagram.
type counters struct {
	inDatagrams, inBytes, inBatches, inJoined, inTruncated, inGathers, inDropped atomic.Uint64
	outDatagrams, outBytes, outBatches, outJoined, outLost, outWaits             atomic.Uint64
	inFaults, outFaults                                                          [faultCount]atomic.Uint64
}

func (c *counters) snapshot() Stats {
	s := Stats{
		InDatagrams:  c.inDatagrams.Load(),
		InBytes:      c.inBytes.Load(),
		InBatches:    c.inBatches.Load(),
		InJoined:     c.inJoined.Load(),
		InTruncated:  c.inTruncated.Load(),
		InGathers:    c.inGathers.Load(),
		InDropped:    c.inDropped.Load(),
		OutDatagrams: c.outDatagrams.Load(),
		OutBytes:     c.outBytes.Load(),
		OutBatches:   c.outBatches.Load(),
		OutJoined:    c.outJoined.Load(),
		OutLost:      c.outLost.Load(),
		OutWaits:     c.outWaits.Load(),
	}
	for f := range s.InFaults {
		s.InFaults[f] = c.inFaults[f].Load()
		s.OutFaults[f] = c.outFaults[f].Load()
	}
	return s
}

// tally gathers what one batch did, so that counters are touched once.
type tally struct {
	datagrams, bytes, joined, truncated uint64
}

// received adds a batch that was read.
func (c *counters) received(t *tally) {
	c.inBatches.Add(1)
	if t.datagrams != 0 {
		c.inDatagrams.Add(t.datagrams)
		c.inBytes.Add(t.bytes)
	}
	if t.joined != 0 {
		c.inJoined.Add(t.joined)
	}
	if t.truncated != 0 {
		c.inTruncated.Add(t.truncated)
	}
}

// sent adds a batch that was written.
func (c *counters) sent(t *tally) {
	c.outBatches.Add(1)
	c.outDatagrams.Add(t.datagrams)
	c.outBytes.Add(t.bytes)
	if t.joined != 0 {
		c.outJoined.Add(t.joined)
	}
}

// lost records that n datagrams were given up because of f.
func (c *counters) lost(f Fault, n int) {
	c.outFaults[f].Add(1)
	c.outLost.Add(uint64(n))
}
