package core

import (
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/reliable"
	"parley/internal/serial"
)

// HandleDatagram takes a datagram from the peer. It ignores datagrams from other addresses: a Port finds
// the peer of an address.
func (e *Endpoint) HandleDatagram(now time.Time, from netip.AddrPort, b []byte) {
	if admission.Canon(from) == e.peer {
		e.handle(now, b)
	}
}

// handle takes a datagram that is known to be from the peer's address.
func (e *Endpoint) handle(now time.Time, b []byte) {
	e.now = now
	if e.state == StateClosed {
		return
	}
	e.stats.In++
	e.allowance.Received(len(b))
	var d Datagram
	switch {
	case !d.Parse(b):
		e.noteMalformed(now)
	case d.Kind == KindConfirmation:
		e.confirmed(now, &d)
	case d.Mode.Reliable():
		e.takeReliable(now, &d, b)
	default:
		e.takeLoose(now, &d, b)
	}
}

// hears notes a sign of life.
func (e *Endpoint) hears(now time.Time) {
	e.heard, e.beaten = now, false
}

// confirmed takes a confirmation. An id that was never sent is a lie, which is counted and
// shows nothing.
func (e *Endpoint) confirmed(now time.Time, d *Datagram) {
	if e.state == StateClosing {
		e.stats.OutOfState++
		return
	}
	e.stats.Confirmations++
	honest, first := false, false
	ids := ReadIDs(d.IDs)
	for id, ok := ids.Next(); ok; id, ok = ids.Next() {
		n := serial.Bits24.Unwrap(e.sender.Next(), id)
		if e.probes != nil && e.probed(now, n) {
			honest = true
			continue
		}
		if e.surveyed(now, n) {
			honest = true
			continue
		}
		fate, tag := e.sender.Ack(now, n)
		if fate == reliable.AckNew {
			e.mayRepeat(now, n)
		}
		if fate != reliable.AckUnsent {
			honest, first = true, first || n == 0
		}
		if tag >>= tagShift; tag != 0 {
			e.seldom().acked.Push(tag)
		}
	}
	if !honest {
		return
	}
	e.hears(now)
	e.answered = true
	if e.state == StateJoining && first {
		e.state, e.announce = StateOpen, true
		e.joinedAt, e.first = now, nil
	}
	e.afterEngine(now)
}

// nextAcked returns the tag of a confirmed package that the game has not been told of.
func (e *Endpoint) nextAcked() (tag uint32, ok bool) {
	if e.rare == nil || e.acked.Len() == 0 {
		return 0, false
	}
	tag = e.acked.Pop()
	e.acked.Trim()
	return tag, true
}

// takeReliable takes a reliable package: "Every reliable package is confirmed on receipt,
// held or not, repeats too."
func (e *Endpoint) takeReliable(now time.Time, d *Datagram, b []byte) {
	if e.state == StateClosing {
		e.stats.OutOfState++ // who has left confirms nothing
		return
	}
	e.stats.Confirmable++
	n := serial.Bits24.Unwrap(e.near, d.ID)
	fate := e.judge(now, n, d, b)
	if e.client && e.isStrange(now, d, fate) {
		e.end(Close{Reason: ReasonRemoved, Text: "the server takes us for a newcomer"}, true)
		return
	}
	if e.state == StateJoining && fate == reliable.Ready && e.isRefusal(d) {
		e.end(Close{Reason: ReasonRefused, Text: printable(d.Payload[1:])}, false)
		return
	}
	switch fate {
	case reliable.Far, reliable.Old, reliable.Violation:
		return // no honest package, so no sign of life either
	case reliable.Ready, reliable.Held:
		e.near = max(e.near, n)
	}
	if len(d.Payload) == 0 && fate == reliable.Repeat && d.Mode == SemiOrdered {
		e.repeated(now)
	}
	e.hears(now)
}

// isStrange reports whether a challenge shows that the server takes us for a newcomer: it has
// the first id, which we know, and another nonce. The server has restarted, or our address has
// changed; either way it counts from 0 again, and what it sends would be taken for repeats. While we
// are let in, and a little after, it is a later challenge of the same server, each minute having its own.
func (e *Endpoint) isStrange(now time.Time, d *Datagram, fate reliable.Fate) bool {
	nonce, ok := readChallenge(d.Payload)
	if !ok || !d.ToServer || d.ID != 0 {
		return false
	}
	r := e.seldom()
	switch {
	case fate == reliable.Ready || fate == reliable.Held:
		r.nonce = nonce
		return false
	case nonce == r.nonce:
		return false
	case e.state == StateJoining:
		if r.answers++; r.answers <= maxAnswers {
			r.nonce = nonce
			e.answer(d.Payload)
		}
		return false
	}
	return now.Sub(r.joinedAt) >= strayLife
}

// judge asks the engine what becomes of a reliable package. An empty one is confirmed and
// goes no further: "Empty packages are not delivered."
func (e *Endpoint) judge(now time.Time, n uint64, d *Datagram, b []byte) reliable.Fate {
	if len(d.Payload) == 0 {
		return e.pass(now, n)
	}
	p := reliable.Packet{Number: n, Reliable: true, Data: b}
	if d.Mode == SemiOrdered {
		p.Lane = laneSemiOrdered
	}
	return e.receiver.Receive(now, p)
}

func (e *Endpoint) pass(now time.Time, n uint64) reliable.Fate {
	far := e.receiver.Stats().TooFar
	switch {
	case e.receiver.Pass(now, n, true):
		return reliable.Ready
	case e.receiver.Stats().TooFar > far:
		return reliable.Far
	}
	return reliable.Repeat
}

// takeLoose takes an unreliable package: as often and in whatever order it comes.
func (e *Endpoint) takeLoose(now time.Time, d *Datagram, b []byte) {
	near := e.noteLoose(d)
	if len(d.Payload) == 0 {
		e.takeEmpty(now, d, near)
		return
	}
	if e.state == StateClosing {
		e.stats.OutOfState++
		return
	}
	e.stats.Loose++
	e.hears(now)
	if e.looseIn.Held() > maxLooseBytes {
		e.stats.LooseUnread++
		e.looseIn.Drop(&e.shared.buffers)
	}
	e.looseIn.Put(append(e.shared.buffers.Take(len(b))[:0], b...))
}

// noteLoose remembers the newest unreliable id, and reports whether this one is within 1,024 of
// the newest so far, or of 0 if there was none. One that is further off is delivered, but is
// not the newest unless it is the first: else two forged packages would do where an id must be
// guessed.
func (e *Endpoint) noteLoose(d *Datagram) (near bool) {
	ahead := serial.Bits24.Distance(e.newestLoose, d.ID)
	near = ahead >= -nearIDs && ahead <= nearIDs
	if near && ahead > 0 || !e.anyLoose && len(d.Payload) > 0 {
		e.newestLoose, e.anyLoose = d.ID, true
	}
	return near
}

// takeEmpty takes an empty unreliable package: of the server it says that we are removed, to
// the server that the peer leaves. Any other is nothing but a sign of life.
func (e *Endpoint) takeEmpty(now time.Time, d *Datagram, near bool) {
	e.stats.Loose++
	switch {
	case !d.ToServer:
		e.hears(now)
	case !near:
		// forged, or from long ago: see noteLoose
	case !e.client:
		e.end(Close{Reason: ReasonLeft}, true)
	case e.state == StateClosing:
		e.end(e.closing.close, false)
	default:
		e.end(Close{Reason: ReasonRemoved}, false)
	}
}

// noteMalformed counts what is no datagram of ours: "counted and dropped; 64 in 10 s from a
// participant removes it".
func (e *Endpoint) noteMalformed(now time.Time) {
	e.stats.Malformed++
	m := &e.seldom().malformed
	if m.count == 0 || now.Sub(m.since) >= malformedSpan {
		*m = malformed{since: now}
	}
	if m.count++; m.count >= maxMalformed && !e.client {
		e.fail(Close{Reason: ReasonProtocol})
	}
}

// nextPackage returns the next package for the application. Its payload is valid until the
// next call.
func (e *Endpoint) nextPackage() (Package, bool) {
	if e.lentIn != nil {
		e.shared.buffers.Give(e.lentIn)
		e.lentIn = nil
	}
	b, ok := e.nextBytes()
	if !ok {
		return Package{}, false
	}
	var d Datagram
	if !d.Parse(b) || d.Kind != KindPackage {
		panic("relay: the engine delivered what it was not given")
	}
	return Package{Mode: d.Mode, Server: d.ToServer, ID: d.ID, Payload: d.Payload}, true
}

func (e *Endpoint) nextBytes() ([]byte, bool) {
	if !e.hold {
		if d, ok := e.receiver.Next(e.now); ok {
			return d.Data, true
		}
	}
	if e.looseIn.Len() == 0 {
		return nil, false
	}
	e.lentIn = e.looseIn.Pop()
	return e.lentIn, true
}
