package tcp

import (
	"encoding/binary"
	"net/netip"
	"time"
)

const (
	// segmentBytes is what a segment carries on Ethernet, with the option of timestamps.
	segmentBytes = 1448

	// headerBytes is what TCP's header, with that option, has more than UDP's, which simnet counts.
	headerBytes = 20 + 12 - 8

	// The first byte of a segment. No datagram of a dialect that has a stream beside it begins so.
	tag     = 0xf0
	hasData = 1
	hasAck  = 2
)

// Pipe is one end of a connection that is open. It is a node of simnet, or a part of one that has other datagrams too.
type Pipe struct {
	to       netip.AddrPort
	sender   sender
	receiver receiver
}

// NewPipe returns an end whose peer is at an address.
func NewPipe(to netip.AddrPort, c Control) *Pipe {
	return &Pipe{to: to, sender: newSender(c), receiver: newReceiver()}
}

// Takes reports whether a datagram is a Pipe's.
func Takes(b []byte) bool { return len(b) >= headerBytes && b[0]&^3 == tag }

// Write sends bytes.
func (p *Pipe) Write(now time.Time, b []byte) {
	p.sender.now = now
	p.sender.out = append(p.sender.out, b...)
}

// Read returns the bytes that have come in order since the last call.
func (p *Pipe) Read() (b []byte) {
	b, p.receiver.in = p.receiver.in, nil
	return b
}

// Limit bounds how many bytes a second are sent, 0 for as many as the window allows: SO_MAX_PACING_RATE.
func (p *Pipe) Limit(rate uint64) { p.sender.rate = rate }

// Info is what a system says of a connection: TCP_INFO.
type Info struct {
	Acked   uint64        // bytes that the peer has acknowledged
	Unsent  int           // bytes that were written and not sent
	LastAck time.Duration // how long ago the last acknowledgement came, in steps of 4 ms
	RTT     time.Duration // smoothed
	Least   time.Duration // round trip; 0 if none was measured
	Resent  uint64        // bytes
	Sacked  int           // segments behind a gap that the peer has
	Heard   uint64        // segments with data that came
	Full    bool          // the window has no room
}

// Info returns what is known.
func (p *Pipe) Info(now time.Time) Info {
	const jiffy = 4 * time.Millisecond
	s := &p.sender
	i := Info{
		Acked: s.acked, Unsent: len(s.out), LastAck: now.Sub(s.lastAck).Truncate(jiffy), RTT: s.srtt, Least: s.least,
		Resent: s.resent, Heard: p.receiver.segments, Full: s.inFlight >= int(s.window.size),
	}
	for j := range s.flight {
		if s.flight[j].acked {
			i.Sacked++
		}
	}
	return i
}

// HandleDatagram takes a segment or an acknowledgement.
func (p *Pipe) HandleDatagram(now time.Time, _ netip.AddrPort, b []byte) {
	at := func(i int) uint32 { return binary.BigEndian.Uint32(b[1+4*i:]) }
	if b[0]&hasAck != 0 {
		p.sender.handle(now, ack{at(2), at(3), at(4)})
	}
	if b[0]&hasData != 0 {
		p.receiver.handle(now, at(0), at(1), b[headerBytes:])
	}
}

// HandleTimeout does what is due.
func (p *Pipe) HandleTimeout(now time.Time) {
	p.sender.timeout(now)
	p.receiver.timeout(now)
}

// NextTimeout returns when something is due.
func (p *Pipe) NextTimeout() (next time.Time, ok bool) {
	for _, at := range []time.Time{p.sender.next(), p.receiver.due} {
		if !at.IsZero() && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}

// PollTransmit writes the next segment or acknowledgement.
func (p *Pipe) PollTransmit(buf []byte) (int, netip.AddrPort, bool) {
	clear(buf[:headerBytes])
	buf[0] = tag
	at := func(i int) []byte { return buf[1+4*i:] }
	n := headerBytes
	if segment, transmission, bytes, ok := p.sender.poll(buf[headerBytes:]); ok {
		buf[0] |= hasData
		binary.BigEndian.PutUint32(at(0), segment)
		binary.BigEndian.PutUint32(at(1), transmission)
		n += bytes
		p.receiver.sends(p.sender.now)
	}
	if a, ok := p.receiver.poll(buf[0]&hasData != 0); ok {
		buf[0] |= hasAck
		binary.BigEndian.PutUint32(at(2), a.next)
		binary.BigEndian.PutUint32(at(3), a.segment)
		binary.BigEndian.PutUint32(at(4), a.transmission)
	}
	return n, p.to, buf[0] != tag
}
