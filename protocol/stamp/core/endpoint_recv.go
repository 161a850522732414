package core

import (
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/reliable"
	"parley/internal/serial"
	"parley/internal/wire"
)

// HandleDatagram takes a datagram from the peer. It ignores datagrams from other addresses: a
// Mux finds the endpoint of an address.
func (e *Endpoint) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	e.now = now
	if e.state == StateClosed || admission.Canon(from) != e.peer {
		return
	}
	e.handle(now, b)
}

// handle takes a datagram that is known to be from the peer's address.
func (e *Endpoint) handle(now time.Time, b []byte) {
	e.now = now
	e.stats.In++
	var p Packet
	switch {
	case !p.Parse(e.side.Other(), b):
		e.noteMalformed(now, b)
	case e.side == FromServer:
		e.handleAtServer(now, &p)
	case e.state == StateConnecting:
		e.handleConnecting(now, &p)
	default:
		e.handleAtClient(now, &p, b)
	}
}

// handleConnecting takes what comes to a client that has no clock yet to judge it by.
func (e *Endpoint) handleConnecting(now time.Time, p *Packet) {
	switch {
	case p.Kind == KindAccept:
		e.accepted(now, p)
	case p.Kind == KindDisconnect && e.rejects(p):
		e.stats.Taken++
		e.end(Close{Reason: ReasonRejected, Remote: true, Text: p.ReasonText()})
	default:
		e.stats.OutOfState++
	}
}

// rejects reports whether a disconnect answers our init: "A connect.disconnect in answer to
// an init is a rejection". One without a reason may be a notice to an ack that we, or who had
// our address before, sent to an earlier connection: it has the number of that ack.
func (e *Endpoint) rejects(p *Packet) bool {
	return len(p.Reason) > 0 || p.Sequence <= acceptNumber && e.handshake.restarts == 0
}

// handleAtClient takes what comes to a client that has the accept.
func (e *Endpoint) handleAtClient(now time.Time, p *Packet, b []byte) {
	if !e.inTime(now, p.Time) {
		e.stats.OutOfTime++
		return
	}
	switch {
	case p.Kind == KindEntity && e.state < StateClosing && !e.tooEarly(now, p):
		e.stats.Taken++
		e.receive(now, p, b)
	case p.Kind == KindAccept && e.state == StateAccepted:
		e.stats.Taken++
		e.put(&Packet{Kind: KindAck, Sequence: acceptNumber})
	case p.Kind == KindAck && e.state == StateClosing && p.Sequence == e.closing.sequence:
		e.stats.Taken++
		e.end(e.closing.close)
	case p.Kind == KindDisconnect:
		e.disconnected(now, p)
	default:
		e.stats.OutOfState++ // "who has sent one answers no sync": a client that leaves acks nothing
	}
}

// tooEarly reports whether an entity packet comes before the first one.
func (e *Endpoint) tooEarly(now time.Time, p *Packet) bool {
	return e.state == StateAccepted && p.Sequence != firstEntity && now.Sub(e.handshake.acked) < firstWithin
}

// receive hands an entity packet to the engine, and its time to the clock: the client
// "refines it from every later packet by the least one-way delay of the last 32".
func (e *Endpoint) receive(now time.Time, p *Packet, b []byte) {
	n := serial.Bits16.Unwrap(e.near, uint32(p.Sequence))
	switch fate := e.judge(now, n, p, b); fate {
	case reliable.Old, reliable.Far, reliable.Violation:
		return // no honest packet, so no sign of life either
	case reliable.Refused:
		e.heard = now
		return
	case reliable.Skipped:
		e.tell(EventSkipped, n, 0)
	}
	e.heard = now
	e.near = max(e.near, n)
	if e.state == StateAccepted && n >= firstEntity {
		e.opened(now, p)
		return
	}
	e.clock.Stamp(now, p.Time)
}

// judge asks the engine what becomes of an entity packet. An empty one that nothing orders
// is for the connection only: it is acknowledged, also when the application is behind with
// reading, and goes no further.
func (e *Endpoint) judge(now time.Time, n uint64, p *Packet, b []byte) reliable.Fate {
	if len(p.Data) == 0 && !p.Ordered {
		if e.receiver.Pass(now, n, p.Reliable) {
			return reliable.Ready
		}
		return reliable.Old
	}
	r := reliable.Packet{Number: n, Reliable: p.Reliable, Data: b}
	if p.Ordered {
		r.Lane = laneEntity
	}
	e.receiver.SetRTT(e.clock.RTT())
	return e.receiver.Receive(now, r)
}

// nextEntity returns the next entity packet for the application: "empty ones are not
// delivered to the application".
func (e *Endpoint) nextEntity() (Event, bool) {
	if e.side != FromClient || e.state < StateAccepted {
		return Event{}, false
	}
	for {
		d, ok := e.receiver.Next(e.now)
		if !ok {
			return Event{}, false
		}
		var p Packet
		if !p.Parse(FromServer, d.Data) || p.Kind != KindEntity {
			panic("stamp: the engine delivered what it was not given")
		}
		if len(p.Data) > 0 {
			return Event{Kind: EventEntity, Number: d.Number, Data: p.Data, Time: p.Time, Reliable: p.Reliable, Ordered: p.Ordered}, true
		}
	}
}

// handleAtServer takes what a client sends to its connection.
func (e *Endpoint) handleAtServer(now time.Time, p *Packet) {
	if p.Kind == KindInit {
		// "An init from the address of a living connection is no sign of life" (replica).
		// It has no time that could be right or wrong.
		if e.state != StateOpen {
			e.stats.OutOfState++
			return
		}
		e.stats.Taken++
		e.ask(now, max(replacedAfter, 2*e.sender.RTT()), Close{Reason: ReasonReplaced})
		return
	}
	// "after it, a packet whose time is further off is dropped"
	if !e.inTime(now, p.Time) {
		e.stats.OutOfTime++
		return
	}
	switch {
	case p.Kind == KindDisconnect:
		e.stats.Taken++
		e.left(now, p)
	case e.state == StateOpen:
		e.stats.Taken++
		e.tookAck(now, p)
	case p.Sequence == e.closing.sequence:
		e.stats.Taken++
		e.end(e.closing.close)
	default:
		e.stats.OutOfState++
	}
}

// tookAck takes an ack of an entity packet, or once more that of the accept.
func (e *Endpoint) tookAck(now time.Time, p *Packet) {
	n := serial.Bits16.Unwrap(e.sender.Next(), uint32(p.Sequence))
	fate, tag := e.sender.Ack(now, n)
	if fate == reliable.AckUnsent {
		return // a lie, which proves nothing
	}
	e.heard = now
	e.measure(now, p.Time)
	if e.challenge.answeredBy(n, p.Time) {
		e.challenge = challenge{}
	}
	if fate == reliable.AckNew {
		e.heeds, e.unheard = true, 0
	}
	if fate == reliable.AckNew && tag != 0 {
		e.tell(EventAcked, n, tag)
	}
	e.afterEngine(now)
}

// measure takes the round trip from the time of an ack. A client that took its clock from the
// accept is wrong by half of what its two ways differ, so that its acks come half a round trip
// after their time, whichever way is the longer. The engine measures better, but not before its
// first packet is acknowledged, and not while packets are resent before their acks can come: so
// this is its start, and its way out when the round trip has grown.
func (e *Endpoint) measure(now time.Time, t uint64) {
	if rtt := 2 * time.Duration(int64(e.ServerTime(now)-t)) * time.Microsecond; rtt > 2*e.sender.RTT() {
		e.sender.Sample(rtt)
	}
}

// noteMalformed counts what is no packet: "more than 64 in 10 s disconnect it with
// `protocol error`", if it is the peer's own.
func (e *Endpoint) noteMalformed(now time.Time, b []byte) {
	e.stats.Malformed++
	r := wire.Little(b)
	r.U8("packet type")
	r.U8("flags")
	r.U16("sequence")
	if t := r.U64("timestamp"); !r.OK() || !e.inTime(now, t) {
		return
	}
	m := &e.malformed
	if m.count == 0 || now.Sub(m.since) >= malformedSpan {
		*m = malformed{since: now}
	}
	if m.count++; m.count > maxMalformed {
		e.fail(now, Close{Reason: ReasonProtocol})
	}
}
