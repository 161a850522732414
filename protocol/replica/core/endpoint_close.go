package core

import (
	"time"

	"parley/internal/clocksync"
)

// ending is what leads to the end of a connection. There is one only while something
// does.
type ending struct {
	// A challenge: the connection ends at the deadline unless a right sync.ack comes first.
	deadline time.Time
	verdict  Close

	// A Close waits for what was sent before it, no longer than leaveBy; then our
	// disconnect goes out and is repeated, all of it no longer than until.
	leaveBy  time.Time
	until    time.Time
	next     time.Time // when to repeat the disconnect
	sends    uint8
	due      bool // the disconnect is to be sent
	sequence uint16
	close    Close
}

func (x *ending) challenged() bool { return !x.deadline.IsZero() }
func (x *ending) leaving() bool    { return !x.leaveBy.IsZero() }

// begunEnding returns what leads to the end, from now on.
func (e *Endpoint) begunEnding() *ending {
	if e.ending == nil {
		e.ending = new(ending)
	}
	return e.ending
}

// answerChallenge notes that the peer is there after all.
func (e *Endpoint) answerChallenge() {
	switch x := e.ending; {
	case x == nil:
	case x.leaving():
		x.deadline = time.Time{}
	default:
		e.ending = nil
	}
}

// sendInit asks to connect: "The client repeats its init (every 250 ms, growing)
// until an accept or a reject comes".
func (e *Endpoint) sendInit(now time.Time) {
	e.put(&Packet{Kind: KindInit, Extended: !e.cfg.Foreign})
	h := &e.client.handshake
	h.sent = now
	h.next = now.Add(h.delay)
	h.delay = min(2*h.delay, maxInitRepeat)
}

func (e *Endpoint) handshakeTimeout(now time.Time) {
	h := &e.client.handshake
	if h.next.IsZero() || now.Before(h.next) {
		return
	}
	switch e.state {
	case StateConnecting:
		e.sendInit(now)
	case StateAccepted:
		// "The client repeats its ack of the accept in the same way until the first
		// sync.init arrives."
		e.put(&Packet{Kind: KindAck, Acked: 1})
		h.next = now.Add(h.delay)
		h.delay = min(2*h.delay, maxInitRepeat)
	}
}

// accepted takes an accept: the clock, the interval and the extension. A repeat
// is acknowledged again, as any reliable packet is.
func (e *Endpoint) accepted(now time.Time, p *Packet) {
	if e.state != StateConnecting {
		if e.state < StateClosing {
			e.put(&Packet{Kind: KindAck, Acked: 1})
		}
		return
	}
	e.heard = now.Sub(e.born)
	e.state = StateAccepted
	e.client.remote.Add(clocksync.Exchange{Sent: e.client.handshake.sent, PeerReceived: p.Received, PeerSent: p.Sent, Received: now})
	c := *e.cfg
	c.SyncInterval = min(time.Duration(p.SyncInterval)*time.Microsecond, maxSyncInterval)
	c.Timeout = max(c.Timeout, 3*c.SyncInterval)
	e.cfg = &c
	e.open(now, p.Extended && !c.Foreign, 1, 2)
	e.near = 1
	e.sender.Sample(e.client.remote.RTT())
	e.put(&Packet{Kind: KindAck, Acked: 1})
	h := &e.client.handshake
	h.delay, h.next, h.acked = initRepeat, now.Add(initRepeat), now
	e.showPass(now)
	if !e.announced {
		e.announced = true
		e.events = append(e.events, Event{Kind: EventConnected})
	}
}

// disconnected takes the peer's goodbye, if it is one.
func (e *Endpoint) disconnected(now time.Time, p *Packet) {
	if e.side == FromServer {
		// "A server that gets one sends a sync.init first, and ignores the disconnect
		// if a right sync.ack comes within 1 s: it was forged."
		if p.Reliable {
			e.put(&Packet{Kind: KindAck, Acked: p.Sequence})
		}
		e.challenge(now, forgedAfter, Close{Reason: ReasonPeer, Remote: true})
		return
	}
	switch {
	case e.state == StateConnecting:
		e.stats.OutOfState++
	case !p.Reliable && len(p.Reason) == 0 && (among(e.sender.Next()-1, p.Sequence) || among(e.near, p.Sequence)):
		e.unknown(now)
	case near(e.near, p.Sequence):
		if p.Reliable {
			e.put(&Packet{Kind: KindAck, Acked: p.Sequence})
		}
		e.endedBy(Close{Reason: ReasonPeer, Remote: true, Text: p.ReasonText()})
	default:
		e.stats.OutOfTime++
	}
}

// unknown takes a notice that the server does not know us: it names a packet that
// we sent. A client whose handshake the server has forgotten before anything was
// said begins again.
func (e *Endpoint) unknown(now time.Time) {
	if e.state != StateAccepted || e.unsettled() > 0 || e.outgoing.Len() > 0 || e.talked {
		e.endedBy(Close{Reason: ReasonUnknown, Remote: true})
		return
	}
	e.state = StateConnecting
	e.client.remote = serverClock{}
	e.client.handshake.delay = initRepeat
	e.sendInit(now)
}

// endedBy ends the connection for what the peer said; but who was asked to close it, and is
// about to, says that.
func (e *Endpoint) endedBy(c Close) {
	if x := e.ending; x != nil && (x.leaving() || e.state == StateClosing) {
		c = x.close
	}
	e.end(c)
}

// near reports whether a sequence is within obeyedWithin of a number.
func near(n uint64, sequence uint16) bool {
	m := unwrapSent(n, sequence)
	return m <= n+obeyedWithin && n <= m+obeyedWithin
}

// among reports whether a sequence is one of the last obeyedWithin up to n: "among
// the last 1,024 that it sent or acknowledged".
func among(n uint64, sequence uint16) bool {
	m := unwrapSent(n, sequence)
	return m <= n && n-m < obeyedWithin
}

// Close ends the connection. Reliable packets that are not acknowledged yet have half of
// Config.Linger to arrive. Then Close sends the goodbye, which is reliable: it is sent again
// until it is acknowledged, at most five times in all and within Config.Linger. A server's
// reason is shown to the client. A client's reason is not sent.
func (e *Endpoint) Close(now time.Time, reason string) {
	if e.state >= StateClosing || e.ending != nil && e.ending.leaving() {
		return
	}
	c := Close{Reason: ReasonClosed, Text: reason}
	if !e.talking() || e.settledAll() {
		e.fail(now, c)
		return
	}
	e.now = now
	x := e.begunEnding()
	x.leaveBy, x.until, x.close = now.Add(e.cfg.Linger/2), now.Add(e.cfg.Linger), c
}

// Abort ends the connection at once. It sends the disconnect once, and gives up all packets that are not acknowledged.
func (e *Endpoint) Abort(now time.Time, reason string) {
	c := Close{Reason: ReasonClosed, Text: reason}
	e.fail(now, c)
	e.endedBy(c)
}

// lost ends the connection because its session has ended: as after a time-out, or as after the goodbye that came before.
func (e *Endpoint) lost(now time.Time) {
	e.now = now
	if x := e.ending; x != nil && x.challenged() && !x.leaving() && e.state < StateClosing {
		e.end(x.verdict)
		return
	}
	e.endedBy(Close{Reason: ReasonTimeout, Text: carrierEnded})
}

// carrierEnded says what has become of a session.
const carrierEnded = "its carrier has ended"

// settledAll reports whether nothing reliable is on its way.
func (e *Endpoint) settledAll() bool {
	return e.sender.InFlight(0) == 0 && e.outgoing.Len() == 0 && (e.client == nil || !e.client.more)
}

// leave says goodbye if that is due.
func (e *Endpoint) leave(now time.Time) {
	if x := e.ending; x.leaving() && (e.settledAll() || !now.Before(x.leaveBy)) {
		e.fail(now, x.close)
	}
}

// fail ends the connection and tells the peer.
func (e *Endpoint) fail(now time.Time, c Close) {
	e.now = now
	switch e.state {
	case StateClosing, StateClosed:
		return
	case StateConnecting:
		e.end(c)
		return
	}
	if c.Reason != ReasonClosed && c.Text == "" {
		c.Text = c.Reason.String()
	}
	x := e.begunEnding()
	if !x.leaving() {
		x.until = now.Add(e.cfg.Linger)
	}
	*x = ending{until: x.until, sequence: uint16(e.sender.Next()), close: c}
	e.state = StateClosing
	e.syncAt = 0
	if e.client != nil {
		e.client.handshake.next = time.Time{}
	}
	e.sendDisconnect(now)
}

// sendDisconnect has a disconnect sent, and sent again in a while.
func (e *Endpoint) sendDisconnect(now time.Time) {
	x := e.ending
	x.due = true
	x.sends++
	x.next = now.Add(min(max(2*e.sender.RTT(), e.cfg.Linger/closeSends), x.until.Sub(now)))
}

func (e *Endpoint) writeDisconnect(buf []byte) int {
	x := e.ending
	x.due = false
	p := Packet{Kind: KindDisconnect, Reliable: true, Sequence: x.sequence}
	if e.side == FromServer {
		p.Reason = []byte(x.close.Text)[:min(len(x.close.Text), MaxReasonBytes)]
	}
	return len(p.AppendTo(buf[:0]))
}

func (e *Endpoint) closeTimeout(now time.Time) {
	x := e.ending
	switch {
	case e.state != StateClosing || now.Before(x.next):
	case x.sends >= closeSends || !now.Before(x.until):
		e.end(x.close)
	default:
		e.sendDisconnect(now)
	}
}

// end lets go of everything but what is still to be read.
func (e *Endpoint) end(c Close) {
	if e.state == StateClosed {
		return
	}
	was := e.state
	e.state = StateClosed
	e.syncAt = 0
	x := e.begunEnding() // a disconnect that is due still goes out
	x.close, x.deadline, x.leaveBy, x.next = c, time.Time{}, time.Time{}, time.Time{}
	if e.client != nil {
		e.client.handshake.next = time.Time{}
	}
	e.outgoing.Clear(e.buffers)
	e.outgoing = waitingMessages{}
	if was != StateConnecting {
		e.sender.Close()
	}
	e.loose.Clear(e.buffers)
	e.closeView()
	e.events = append(e.events, Event{Kind: EventClosed, Close: c, Goodbye: e.side == FromServer && c.Reason == ReasonPeer})
}

// Release frees the memory of received messages that a closed endpoint still holds.
func (e *Endpoint) Release() {
	if e.state == StateClosed {
		e.receiver.Close()
		if e.parts != nil {
			e.parts.Release()
		}
	}
}

// Over returns the reason why the connection has ended, if it has. Events may still be
// waiting for PollEvent.
func (e *Endpoint) Over() (why error, over bool) {
	if e.state != StateClosed {
		return nil, false
	}
	return e.ending.close, true
}

// Advance sets the time for polls before the next Handle*. An earlier time is ignored.
func (e *Endpoint) Advance(now time.Time) {
	if now.After(e.now) {
		e.now = now
	}
}
