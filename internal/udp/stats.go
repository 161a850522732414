package udp

import (
	"sync/atomic"

	"parley/internal/datagram"
)

// counters are a socket's counters. They are updated once per batch, not once per
// datagram: an atomic addition costs as much as the copy of a small datagram.
type counters struct {
	inDatagrams, inBytes, inBatches, inJoined, inTruncated, inForged, inGathers, inDropped atomic.Uint64
	outDatagrams, outBytes, outBatches, outJoined, outLost, outWaits                       atomic.Uint64
	inFaults, outFaults                                                                    [len(datagram.Faults{})]atomic.Uint64
}

func (c *counters) snapshot() datagram.Stats {
	s := datagram.Stats{
		InDatagrams:  c.inDatagrams.Load(),
		InBytes:      c.inBytes.Load(),
		InBatches:    c.inBatches.Load(),
		InJoined:     c.inJoined.Load(),
		InTruncated:  c.inTruncated.Load(),
		InForged:     c.inForged.Load(),
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

// received adds a batch that was read.
func (c *counters) received(t *datagram.Tally) {
	c.inBatches.Add(1)
	if t.Datagrams != 0 {
		c.inDatagrams.Add(t.Datagrams)
		c.inBytes.Add(t.Bytes)
	}
	if t.Joined != 0 {
		c.inJoined.Add(t.Joined)
	}
	if t.Truncated != 0 {
		c.inTruncated.Add(t.Truncated)
	}
	if t.Forged != 0 {
		c.inForged.Add(t.Forged)
	}
}

// sent adds a batch that was written.
func (c *counters) sent(t *datagram.Tally) {
	c.outBatches.Add(1)
	c.outDatagrams.Add(t.Datagrams)
	c.outBytes.Add(t.Bytes)
	if t.Joined != 0 {
		c.outJoined.Add(t.Joined)
	}
}

// lost records that n datagrams were given up because of f.
func (c *counters) lost(f datagram.Fault, n int) {
	c.outFaults[f].Add(1)
	c.outLost.Add(uint64(n))
}
