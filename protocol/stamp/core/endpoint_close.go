package core

import (
	"time"
	"unicode/utf8"

	"parley/internal/serial"
)

// closing is our disconnect on its way.
type closing struct {
	next     time.Time
	until    time.Time
	sends    int
	sequence uint16
	close    Close
}

// challenge makes a client show that it is there and listens: the connection ends at
// the deadline unless an ack comes that was sent after the challenge began, as its number
// or its time tells. (Its number alone would not do: what is sent to ask may wait behind much else.
// Nor an ack of the accept: that may be a new client's.)
type challenge struct {
	deadline time.Time
	number   uint64 // our next one when it began
	time     uint64 // the connection's clock then
	verdict  Close
}

func (c *challenge) pending() bool { return !c.deadline.IsZero() }

// answeredBy reports whether the ack of number n, with time t, was sent since.
func (c *challenge) answeredBy(n, t uint64) bool {
	return n >= c.number || n >= firstEntity && int64(t-c.time) > 0
}

// ask begins a challenge, or makes one that runs end sooner.
func (e *Endpoint) ask(now time.Time, within time.Duration, verdict Close) {
	deadline := now.Add(within)
	switch {
	case !e.challenge.pending():
		e.challenge = challenge{deadline, e.sender.Next(), e.ServerTime(now), verdict}
		e.beat(now)
	case deadline.Before(e.challenge.deadline):
		e.challenge.deadline, e.challenge.verdict = deadline, verdict
	}
}

// left takes a client's goodbye: "A server that gets one sends a sync.init first, and
// ignores the disconnect if a right sync.ack comes within 1 s: it was forged." (replica)
func (e *Endpoint) left(now time.Time, p *Packet) {
	e.put(&Packet{Kind: KindAck, Sequence: p.Sequence})
	if e.state == StateClosing {
		e.end(e.closing.close)
		return
	}
	e.ask(now, forgedAfter, Close{Reason: ReasonPeer, Remote: true})
}

// disconnected takes a disconnect at a client that has the accept. "A client obeys a
// disconnect whose sequence is within 1,024 of the newest" (replica). If no packet had that
// number before, or it gives a reason, the server says goodbye; else it is a notice that
// answers our ack of that number.
func (e *Endpoint) disconnected(now time.Time, p *Packet) {
	n := serial.Bits16.Unwrap(e.near, uint32(p.Sequence))
	if n > e.near+obeyedWithin || e.near > n+obeyedWithin {
		e.stats.OutOfRange++
		return
	}
	e.stats.Taken++
	goodbye := e.receiver.Pass(now, n, false) || e.state > StateAccepted && len(p.Reason) > 0
	if goodbye {
		e.put(&Packet{Kind: KindAck, Sequence: p.Sequence})
	}
	switch {
	case e.state == StateClosing:
		e.end(e.closing.close)
	case goodbye:
		e.end(Close{Reason: ReasonPeer, Remote: true, Text: p.ReasonText()})
	default:
		e.unknown(now, p)
	}
}

// leaving is a Close that waits for what was sent before it. The zero value is none.
type leaving struct {
	until time.Time // no longer than this
	close Close
}

func (l *leaving) pending() bool { return !l.until.IsZero() }

// Close ends the connection. A server's reliable packets that are not acknowledged yet have half of
// Config.Linger to arrive. Then Close sends the goodbye, and sends it again until it is acknowledged,
// at most five times in all and within Config.Linger. A server's reason is shown to the client. A
// client's reason is not sent.
func (e *Endpoint) Close(now time.Time, reason string) {
	e.now = now
	if e.leaving.pending() {
		return
	}
	e.leaving = leaving{until: now.Add(e.cfg.Linger / 2), close: Close{Reason: ReasonClosed, Text: reason}}
	e.leave(now)
}

// leave says goodbye if that is due.
func (e *Endpoint) leave(now time.Time) {
	waits := e.side == FromServer && e.state == StateOpen && e.sender.InFlight(0)+e.ordered.Len() > 0
	if e.leaving.pending() && (!waits || !now.Before(e.leaving.until)) {
		e.fail(now, e.leaving.close)
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
	e.state = StateClosing
	e.challenge = challenge{}
	e.closing = closing{until: now.Add(e.cfg.Linger), sequence: e.farewellNumber(), close: c}
	if e.leaving.pending() {
		e.closing.until = e.leaving.until.Add(e.cfg.Linger / 2)
	}
	e.letGo()
	e.sendDisconnect(now)
}

// farewellNumber is the next number of our direction: a client has used 0 for its init
// and none since, as acks have none.
func (e *Endpoint) farewellNumber() uint16 {
	if e.side == FromServer {
		return uint16(e.sender.Next())
	}
	return 1
}

func (e *Endpoint) sendDisconnect(now time.Time) {
	p := Packet{Kind: KindDisconnect, Sequence: e.closing.sequence}
	if e.side == FromServer {
		p.Reason = cut(e.closing.close.Text, MaxReason)
	}
	e.put(&p)
	e.closing.sends++
	e.closing.next = now.Add(min(max(2*e.RTT(), e.cfg.Linger/closeSends), e.closing.until.Sub(now)))
}

// cut returns what of a text fits into n bytes, in whole characters.
func cut(text string, n int) []byte {
	if len(text) > n {
		for n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		text = text[:n]
	}
	return []byte(text)
}

func (e *Endpoint) closeTimeout(now time.Time) {
	switch {
	case now.Before(e.closing.next):
	case e.closing.sends >= closeSends || !now.Before(e.closing.until):
		e.end(e.closing.close)
	default:
		e.sendDisconnect(now)
	}
}

// end lets go of everything but what is still to be read or already on its way out.
func (e *Endpoint) end(c Close) {
	e.state = StateClosed
	e.closing.close = c
	e.last = true
	e.letGo()
}

// lost ends the connection because its session has ended: as after a time-out, or as after the goodbye that came before.
func (e *Endpoint) lost(now time.Time) {
	e.now = now
	switch {
	case e.state == StateClosed:
	case e.state == StateClosing:
		e.end(e.closing.close)
	case e.leaving.pending():
		e.end(e.leaving.close)
	case e.challenge.pending():
		e.end(e.challenge.verdict)
	default:
		e.end(Close{Reason: ReasonTimeout, Text: carrierEnded})
	}
}

// carrierEnded says what has become of a session.
const carrierEnded = "its carrier has ended"

// letGo gives up what was to be sent.
func (e *Endpoint) letGo() {
	if e.side == FromServer {
		e.sender.Close()
	}
	e.ordered.Clear(e.buffers)
	e.loose.Clear(e.buffers)
}

// Over returns the reason why the connection has ended, if it has. Events may still be waiting for
// PollEvent.
func (e *Endpoint) Over() (why error, over bool) {
	if e.state != StateClosed {
		return nil, false
	}
	return e.closing.close, true
}

// Abort ends the connection at once. It sends the disconnect once, and gives up all packets that are not
// acknowledged.
func (e *Endpoint) Abort(now time.Time, reason string) {
	if e.state == StateClosed {
		return
	}
	e.fail(now, Close{Reason: ReasonClosed, Text: reason})
	e.end(e.closing.close)
}

// Advance sets the time for polls before the next Handle*. An earlier time is ignored.
func (e *Endpoint) Advance(now time.Time) {
	if now.After(e.now) {
		e.now = now
	}
}
