package core

import (
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/reliable"
	"parley/internal/wire"
)

// HandleDatagram takes a datagram from the peer. It ignores datagrams from other addresses: a Mux finds the
// endpoint of an address.
func (e *Endpoint) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	if admission.Canon(from) == e.peer {
		e.take(now, b)
	}
}

// take takes a datagram that is the peer's.
func (e *Endpoint) take(now time.Time, b []byte) {
	e.now = now
	if e.state == StateClosed {
		return
	}
	if typeOf(b) >= TypeBundle {
		e.takeOurs(now, b)
		return
	}
	e.stats.In++
	if e.takeUsual(now, b) {
		return
	}
	var p Packet
	if !p.Parse(e.side.Other(), b) {
		e.noteMalformed(now)
		return
	}
	e.handle(now, &p, b)
}

// takeUsual takes what nearly all datagrams of a connection are, an ack or a message, without
// the labour of a Packet. It does what handle does with them, or nothing.
func (e *Endpoint) takeUsual(now time.Time, b []byte) bool {
	switch {
	case len(b) == ackBytes && typeOf(b) == TypeAck && e.state >= StateAccepted:
		e.tookAck(now, wire.LittleU16At(b, 1))
		return true
	case e.state == StateOpen && plainMessage(b):
		e.takeNamed(now, b)
		return true
	}
	return false
}

// takeNamed takes a message that was checked, in the open state.
func (e *Endpoint) takeNamed(now time.Time, b []byte) {
	if !e.inTime(now, timeOf(b)) {
		e.stats.OutOfTime++
		return
	}
	flags := flagsOf(b)
	e.judge(now, sequenceOf(b), flags&flagReliable != 0, flags&flagOrdered != 0, flags&flagsOrderLink>>orderLinkShift, b, laneMessage)
}

// handle takes a packet that was parsed; b are its bytes.
func (e *Endpoint) handle(now time.Time, p *Packet, b []byte) {
	e.now = now
	if e.side == FromClient {
		e.handleAtClient(now, p, b)
	} else {
		e.handleAtServer(now, p, b)
	}
}

func (e *Endpoint) handleAtClient(now time.Time, p *Packet, b []byte) {
	switch p.Kind {
	case KindAccept:
		e.accepted(now, p)
	case KindReject:
		if e.state == StateConnecting {
			e.end(Close{Reason: ReasonRejected, Remote: true, Text: p.ReasonText()})
			return
		}
		e.stats.OutOfState++
	case KindDisconnect:
		e.disconnected(now, p)
	default:
		if e.state == StateConnecting || e.tooEarly(now, p) {
			e.stats.OutOfState++
			return
		}
		e.handleOpen(now, p, b)
	}
}

// tooEarly reports whether a packet cannot be one of the first of a server that has just
// accepted us: see firstWithin.
func (e *Endpoint) tooEarly(now time.Time, p *Packet) bool {
	return e.state == StateAccepted && p.Kind != KindAck && e.unwrap(p.Sequence) > e.near+maxUnprovenSyncs &&
		now.Sub(e.client.handshake.acked) < firstWithin
}

func (e *Endpoint) handleAtServer(now time.Time, p *Packet, b []byte) {
	switch p.Kind {
	case KindInit:
		// "An init from the address of a living connection is no sign of life: the
		// server sends a sync.init on that connection; if no right sync.ack comes in
		// 2 s the old connection ends and the next init starts a new one."
		e.challenge(now, replacedAfter, Close{Reason: ReasonReplaced})
	case KindDisconnect:
		e.disconnected(now, p)
	default:
		e.handleOpen(now, p, b)
	}
}

// handleOpen takes the packets that both sides send while connected.
func (e *Endpoint) handleOpen(now time.Time, p *Packet, b []byte) {
	switch p.Kind {
	case KindAck:
		e.tookAck(now, p.Acked)
	case KindSyncInit:
		e.handleSyncInit(now, p)
	case KindSyncAck:
		e.handleSyncAck(now, p)
	case KindMessage:
		// "a message ... whose time is not within 10 s of the connection's clock is
		// dropped before it touches any window"
		if !e.inTime(now, p.Time) {
			e.stats.OutOfTime++
			return
		}
		e.receive(now, p, b, laneMessage)
	case KindReplicate:
		if e.state == StateClosing {
			e.stats.OutOfState++
			return
		}
		e.handleReplicate(now, p)
	default:
		e.receive(now, p, b, laneLink)
	}
}

func (e *Endpoint) tookAck(now time.Time, seq uint16) { e.tookAcks(now, seq, 1) }

// tookAcks takes the acks of count numbers.
func (e *Endpoint) tookAcks(now time.Time, first, count uint16) {
	if e.state == StateClosing {
		if e.ending.sequence-first < count {
			e.end(e.ending.close)
		}
		return
	}
	for count > 0 {
		n, tag, sent := e.sender.AckRun(now, unwrapSent(e.sender.Next(), first), int(count))
		if sent { // what was not is a lie, and no sign of life
			e.heard = now.Sub(e.born)
		}
		switch {
		case tag == 0:
		case tag == bundlesTag:
			e.agreed(bundlesKnown)
		case tag&taggedBit != 0:
			e.tookTagged(now, tag)
		case e.view != nil:
			e.settled(tag, true)
		}
		first, count = first+uint16(n), count-uint16(n)
	}
	e.afterEngine(now)
}

// receive hands a packet to the engine. In which lane it is ordered says lane.
func (e *Endpoint) receive(now time.Time, p *Packet, b []byte, lane uint8) {
	if e.state == StateClosing {
		e.stats.OutOfState++
		return
	}
	e.judge(now, p.Sequence, p.Reliable, p.Ordered, p.OrderLink, b, lane)
}

// judge has the engine judge a packet.
func (e *Endpoint) judge(now time.Time, sequence uint16, acked, ordered bool, link uint8, b []byte, lane uint8) {
	if e.guest && e.holdsMuch(len(b)) {
		e.stats.OutOfState++
		return
	}
	n := e.unwrap(sequence)
	r := reliable.Packet{Number: n, Reliable: acked, Data: b}
	if ordered {
		r.Lane, r.Back = lane, uint64(link)
		if !e.extended {
			r.Back = 0
		}
	}
	if !e.extended {
		e.receiver.SetRTT(e.sender.RTT())
	}
	switch fate := e.receiver.Receive(now, r); fate {
	case reliable.Violation:
		e.fail(now, Close{Reason: ReasonProtocol})
	case reliable.Skipped:
		e.note(Event{Kind: EventSkipped, Number: n})
		e.accept(now, n)
	case reliable.Ready, reliable.Held, reliable.Outdated, reliable.Repeat:
		e.accept(now, n)
		if e.bundles&bundlesHeard == 0 && fate == reliable.Ready && lane == laneMessage {
			e.hearBundles(b)
		}
	}
}

// holdsMuch reports whether n more bytes are too many for a connection that has not entered.
func (e *Endpoint) holdsMuch(n int) bool {
	n += e.receiver.WaitingBytes() + receiveOverhead
	if e.parts != nil {
		n += e.parts.Len()
	}
	return n > guestBytes || e.receiver.Waiting() >= guestPackets
}

// accept notes that a packet of the peer was taken.
func (e *Endpoint) accept(now time.Time, n uint64) {
	e.heard = now.Sub(e.born)
	if int64(n-e.near) > 0 {
		e.near = n
	}
}

// nextMessage returns the next whole message, putting parts together, or what a packet
// of ours among them brought about.
func (e *Endpoint) nextMessage(ev *Event) bool {
	if e.parts != nil {
		e.parts.Read()
	}
	for e.state >= StateAccepted {
		d, ok := e.receiver.Next(e.now)
		if !ok {
			return false
		}
		if Type(d.Data[0]) == TypeLink {
			e.takeLink(d.Data)
		} else if e.takeMessage(&d, ev) {
			return true
		} else if e.parts != nil && e.parts.Waits() {
			e.receiver.Unread(d)
			return false
		}
		// A closed connection's last event waits until all messages are read.
		if len(e.events) > 0 && e.events[0].Kind != EventClosed {
			e.popEvent(ev)
			return true
		}
	}
	return false
}

// takeLink takes a link packet in its order. With the connection over, only what the
// application reads still counts.
func (e *Endpoint) takeLink(b []byte) {
	var p Packet
	if !p.Parse(e.side.Other(), b) {
		panic("replica: the engine delivered what it was not given")
	}
	if e.state != StateClosed {
		e.handleLink(&p)
	}
}

// takeMessage makes an event of a message packet, if it is or completes a message for the
// application.
func (e *Endpoint) takeMessage(d *reliable.Delivery, ev *Event) bool {
	flags := flagsOf(d.Data)
	ordered := flags&flagOrdered != 0
	name, data := rereadNamed(d.Data)
	switch {
	case e.side == FromClient && string(name) == goneName:
		if e.state != StateClosed {
			e.takeGone(d.Number, data)
		}
		return false
	case e.broken && ordered, e.saysBundles(d.Data):
		return false
	}
	if more := flags&flagHigh != 0; e.extended && ordered && (more || e.partial()) {
		return e.takePart(d, ev)
	}
	ev.Kind, ev.Name, ev.Data, ev.Time = EventMessage, name, data, timeOf(d.Data)
	ev.Number, ev.Reliable, ev.Ordered = d.Number, flags&flagReliable != 0, ordered
	return true
}

// takePart makes an event of the message that a part completes.
func (e *Endpoint) takePart(d *reliable.Delivery, ev *Event) bool {
	var p Packet
	p.reread(d.Data)
	whole, fate := e.addPart(&p)
	if fate == reliable.Wait {
		if !e.restHasCome(p.More) {
			return false
		}
		e.parts.Arrived = true
		whole, fate = e.addPart(&p)
	}
	e.peeked = 0
	switch fate {
	case reliable.Whole:
		ev.Kind, ev.Name, ev.Data, ev.Time = EventMessage, whole.name, whole.data, whole.time
		ev.Number, ev.Reliable, ev.Ordered = d.Number, true, true
		return true
	case reliable.Oversize, reliable.Stalled:
		e.broken = true
		e.fail(e.now, Close{Reason: ReasonOverflow})
	}
	return false
}

// restHasCome reports whether all further parts of a message that waits for room are there, with more unset if the
// first of them is the last. Then it can be read without: slow senders that use all room do not hold it up. Of what
// waits, it looks at each packet once.
func (e *Endpoint) restHasCome(more bool) bool {
	for ; more; e.peeked++ {
		b, ok := e.receiver.Peek(int(e.peeked))
		if !ok {
			return false
		}
		if typeOf(b) == TypeMessage && flagsOf(b)&(flagOrdered|flagHigh) == flagOrdered && !e.isGone(b) {
			return true
		}
	}
	return true
}

// isGone reports whether a message is the server's own to its client.
func (e *Endpoint) isGone(b []byte) bool {
	name, _ := rereadNamed(b)
	return e.side == FromClient && string(name) == goneName
}

// noteMalformed counts what is no packet: "more than 64 in 10 s disconnect it
// with `protocol error`". A client that is not connected yet only counts them.
func (e *Endpoint) noteMalformed(now time.Time) {
	e.stats.Malformed++
	if e.state == StateConnecting {
		return
	}
	if at := now.Sub(e.born); at-e.malformedSince >= malformedSpan {
		e.malformedSince, e.malformed = at, 0
	}
	if e.malformed++; e.malformed > maxMalformed {
		e.fail(now, Close{Reason: ReasonProtocol})
	}
}
