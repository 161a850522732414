package tcp

import (
	"encoding/binary"
	"net/netip"
	"time"
)

// receiver acknowledges every segment: with the number up to which it has all, and the transmission that made it say so.
type receiver struct {
	to    netip.AddrPort
	next  uint32          // the first segment that is missing
	early map[uint32]bool // what came before its turn
	acks  []ack           // to be sent
}

type ack struct{ next, segment, transmission uint32 }

func (r *receiver) HandleDatagram(_ time.Time, _ netip.AddrPort, b []byte) {
	segment, transmission := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	if segment >= r.next {
		r.early[segment] = true
	}
	for ; r.early[r.next]; r.next++ {
		delete(r.early, r.next)
	}
	r.acks = append(r.acks, ack{r.next, segment, transmission})
}

func (r *receiver) HandleTimeout(time.Time) {}

func (r *receiver) NextTimeout() (time.Time, bool) { return time.Time{}, false }

func (r *receiver) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	if len(r.acks) == 0 {
		return 0, netip.AddrPort{}, false
	}
	a := r.acks[0]
	r.acks = r.acks[1:]
	b := binary.BigEndian.AppendUint32(buf[:0], a.next)
	b = binary.BigEndian.AppendUint32(b, a.segment)
	binary.BigEndian.AppendUint32(b, a.transmission)
	return headerBytes, r.to, true
}
