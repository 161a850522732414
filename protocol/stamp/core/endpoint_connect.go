package core

import (
	"time"

	"parley/internal/clocksync"
	"parley/internal/reliable"
)

// The numbers of a server: its accept, and its first entity packet.
const (
	acceptNumber = 1
	firstEntity  = 2
)

// handshake is a client's way in.
type handshake struct {
	next     time.Time // when to repeat
	delay    time.Duration
	first    time.Time // the first init of this attempt
	newest   time.Time // and the newest
	acked    time.Time // the first ack of the accept
	round    time.Duration
	restarts int
}

// begin asks to connect.
func (e *Endpoint) begin(now time.Time) {
	e.state = StateConnecting
	e.clock = clocksync.OneWay{}
	e.handshake = handshake{first: now, restarts: e.handshake.restarts, delay: initRepeat}
	e.sendInit(now)
}

// sendInit sends an init: "The client repeats its init until the accept comes".
func (e *Endpoint) sendInit(now time.Time) {
	e.put(&Packet{Kind: KindInit})
	e.handshake.newest = now
	e.handshake.wait(now)
}

// sendFirstAck sends the ack of the accept: "then its ack of the accept (sequence 1)
// until the first entity packet comes".
func (e *Endpoint) sendFirstAck(now time.Time) {
	e.put(&Packet{Kind: KindAck, Sequence: acceptNumber})
	e.handshake.wait(now)
}

// wait sets the time of the next repeat: every 250 ms, growing.
func (h *handshake) wait(now time.Time) {
	h.next = now.Add(h.delay)
	h.delay = min(2*h.delay, maxInitRepeat)
}

func (e *Endpoint) handshakeTimeout(now time.Time) {
	if e.state >= StateOpen || now.Before(e.handshake.next) {
		return
	}
	if e.state == StateConnecting {
		e.sendInit(now)
	} else {
		e.sendFirstAck(now)
	}
}

// accepted takes the accept: "The client takes the server's clock from the accept (its
// time plus half the round trip)". Which init it answers it does not say, so it
// is taken for the first, unless that was unbelievably long ago.
func (e *Endpoint) accepted(now time.Time, p *Packet) {
	h := &e.handshake
	asked := h.first
	if !e.clock.Accept(asked, p.Time, now) {
		if asked = h.newest; !e.clock.Accept(asked, p.Time, now) {
			e.stats.OutOfTime++
			return
		}
	}
	e.stats.Taken++
	e.heard = now
	e.state = StateAccepted
	e.receiver = reliable.NewReceiver(now, firstEntity, e.cfg.recv, e.buffers)
	e.near = acceptNumber
	h.round, h.acked, h.delay = now.Sub(asked), now, initRepeat
	e.sendFirstAck(now)
}

// opened takes the first entity packet. The server sent it after our first ack came, so the
// two are an exchange as good as the accept's, and better if an init was lost: then
// the clock is set by it, which nobody has read yet.
func (e *Endpoint) opened(now time.Time, p *Packet) {
	h := &e.handshake
	if now.Sub(h.acked) < h.round {
		e.clock = clocksync.OneWay{}
	}
	e.clock.Accept(h.acked, p.Time, now)
	e.state = StateOpen
	e.announce = true
}

// unknown takes a notice that the server does not know us. A client whose handshake the
// server has forgotten before anything came of it begins again.
func (e *Endpoint) unknown(now time.Time, p *Packet) {
	switch {
	case e.state == StateAccepted && len(p.Reason) > 0:
		e.end(Close{Reason: ReasonRejected, Remote: true, Text: p.ReasonText()})
	case e.state == StateAccepted && e.handshake.restarts < maxRestarts:
		e.handshake.restarts++
		e.begin(now)
	default:
		e.end(Close{Reason: ReasonUnknown, Remote: true})
	}
}
