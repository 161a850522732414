package core

import (
	"time"

	"parley/internal/lend"
	"parley/internal/reliable"
	"parley/internal/wire"
)

// Target is the receiver of a client's package.
type Target uint8

const (
	// ToOthers sends to all other participants.
	ToOthers Target = iota
	// ToServer sends to the server.
	ToServer
)

var targetNames = [...]string{"others", "server"}

// String returns the target's name.
func (t Target) String() string { return wire.NameOf(t, targetNames[:]) }

// Send sends a package. Nothing is sent if it returns an error.
func (e *Endpoint) Send(now time.Time, mode Mode, to Target, payload []byte) error {
	e.now = now
	if err := e.maySend(mode, payload); err != nil {
		return err
	}
	return e.sendCopy(now, mode, to == ToServer, payload)
}

func (e *Endpoint) maySend(mode Mode, payload []byte) error {
	switch {
	case e.state == StateJoining:
		return ErrNotJoined
	case e.state != StateOpen:
		return ErrClosed
	case mode > SemiOrdered:
		return ErrMode
	case len(payload) == 0 || len(payload) > MaxPayload:
		return ErrPayloadSize
	}
	return nil
}

// sendCopy sends a package with a payload of its own.
func (e *Endpoint) sendCopy(now time.Time, mode Mode, server bool, payload []byte) error {
	return e.sendTagged(now, mode, server, payload, 0)
}

// sendTagged is sendCopy with a tag that comes back with the confirmation.
func (e *Endpoint) sendTagged(now time.Time, mode Mode, server bool, payload []byte, tag uint32) error {
	shared := e.shared.buffers.Share(payload)
	err := e.sendOut(now, mode, outgoing{payload: shared, flags: packageFlags(mode, server), tag: tag}, nil)
	e.shared.buffers.Release(shared)
	return err
}

// sendShared sends a package, of a sender if it is passed on, whose payload others may send too.
func (e *Endpoint) sendShared(now time.Time, mode Mode, server bool, payload *lend.Shared, from *Peer) error {
	return e.sendOut(now, mode, outgoing{payload: payload, flags: packageFlags(mode, server)}, from)
}

func (e *Endpoint) sendOut(now time.Time, mode Mode, o outgoing, from *Peer) error {
	if mode == Unreliable {
		e.sendLoose(o)
		return nil
	}
	return e.sendFrom(now, o, from)
}

// sendLoose queues an unreliable package. Past the bound the oldest goes.
func (e *Endpoint) sendLoose(o outgoing) {
	if o.payload != nil {
		o.payload.Retain()
	}
	e.looseOut.Push(o)
	e.looseHeld += int32(o.held())
	for e.looseHeld > maxLooseBytes {
		old := e.looseOut.Pop()
		e.looseHeld -= int32(old.held())
		e.release(old)
		e.stats.LooseUnsent++
	}
}

// sendReliable gives a package of our own to the engine, or puts it behind those that wait for room there.
func (e *Endpoint) sendReliable(now time.Time, o outgoing) error { return e.sendFrom(now, o, nil) }

// sendFrom gives a package of a sender to the engine, or puts it behind those that wait for room
// there: "No sender has more than 1,024 ids outstanding." A server's own packages have half of the backlog, what is
// passed on the other half.
func (e *Endpoint) sendFrom(now time.Time, o outgoing, from *Peer) error {
	if e.backlog.Len() == 0 && e.toEngine(now, &o) {
		return nil
	}
	limit, held := e.rules.MaxBacklog, int(e.backlog.held)
	switch {
	case from != nil: // its sender waits long before this, in a room of any size that there should be
		limit *= 2
	case !e.client:
		limit, held = limit/2, e.backlog.ownHeld()
	}
	if held+o.held() > limit {
		return ErrBacklogFull
	}
	e.push(now, o, from)
	return nil
}

// toEngine reports whether the engine took a package. The number is the engine's; the
// flags come back with each transmission.
func (e *Endpoint) toEngine(now time.Time, o *outgoing) bool {
	if e.owes() && !e.payOwed(now) {
		return false
	}
	if e.rare != nil && e.expected != nil && len(o.bytes()) > 0 {
		e.passOver(now)
	}
	opts := reliable.Options{Tag: uint32(o.flags) | o.tag<<tagShift, Shared: o.payload}
	if Mode(o.flags>>modeShift) == SemiOrdered {
		opts.Lane = laneSemiOrdered
	}
	return e.sender.Send(now, nil, opts) == nil
}

// mayBeat reports whether an empty package is due after enough silence: once a silence. A peer
// that has not confirmed anything yet, and has something to confirm, has that to answer, which
// is resent; without that, two servers that were made to take each other for clients by one
// forged package would keep each other alive. Nor is one due while ids of a former conversation are owed: see Progress.
func (e *Endpoint) mayBeat() bool {
	return !e.beaten && (e.answered || e.sender.InFlight(0) == 0) && !e.owes()
}

// beat sends "an empty reliable unordered package (bit 4 set), whose confirmation is a sign
// of life".
func (e *Endpoint) beat(now time.Time) {
	e.beaten = true
	if e.sendReliable(now, outgoing{flags: packageFlags(Unordered, true)}) == nil {
		e.stats.Beats++
	}
}

// afterEngine looks at what the engine decided.
func (e *Endpoint) afterEngine(now time.Time) {
	if e.sender.Failed() == reliable.ReasonUnacknowledged {
		e.fail(Close{Reason: ReasonUnconfirmed}) // "the peer has left"
		return
	}
	e.pump(now)
	e.depart(now)
}
