package core

import (
	"time"

	"parley/internal/queue"
	"parley/internal/reliable"
	"parley/internal/way"
	"parley/internal/wire"
)

// atTimestamp is where the time of any packet is.
const atTimestamp = 4

// Mode is the reliability of an entity packet.
type Mode uint8

const (
	// Unreliable packets arrive at most once, in any order.
	Unreliable Mode = iota
	// Reliable packets arrive exactly once, in any order.
	Reliable
	// Ordered packets arrive exactly once, after every ordered packet before them. One is in
	// flight at a time, so at most one arrives each round trip.
	Ordered
)

var modeNames = [...]string{"unreliable", "reliable", "ordered"}

// String returns the mode's name.
func (m Mode) String() string { return wire.NameOf(m, modeNames[:]) }

// Send sends an entity packet to a client. Nothing is sent if it returns an error.
func (e *Endpoint) Send(now time.Time, mode Mode, data []byte) error {
	e.now = now
	if err := e.maySend(data); err != nil {
		return err
	}
	switch mode {
	case Unreliable:
		return e.sendLoose(now, data)
	case Reliable:
		return e.sendReliable(now, &Packet{Data: data}, reliable.Options{})
	case Ordered:
		return e.sendOrdered(now, data)
	}
	return ErrMode
}

// SendReport sends an entity packet that is not sent again if it is lost: its fate is reported
// instead. It is for snapshots, whose newest values are worth more than the lost ones. The tag
// comes back once, with EventAcked or EventLost, unless the connection ends first. With tag 0
// nothing is reported.
func (e *Endpoint) SendReport(now time.Time, data []byte, tag uint32) error {
	e.now = now
	if err := e.maySend(data); err != nil {
		return err
	}
	if e.reportsOpen >= maxTold {
		return ErrWindowFull
	}
	if e.hushed(now, len(data)) {
		e.stats.Hushed++
		return ErrWindowFull
	}
	err := e.sendReliable(now, &Packet{Data: data}, reliable.Options{Report: true, Tag: tag})
	if err == nil {
		e.unheard += len(data) + packetCost
		if tag != 0 {
			e.reportsOpen++
		}
	}
	return err
}

// hushed reports whether a client that confirms nothing was sent enough: see hushBytes.
func (e *Endpoint) hushed(now time.Time, n int) bool {
	silent := int(max(now.Sub(e.heard), 0) / time.Second)
	return e.unheard+n+packetCost > hushBytes+hushMore-hushMore>>min(silent, 12)
}

// MaxData returns the largest size of an entity packet's data to this peer: the constant, or less over WebTransport.
func (e *Endpoint) MaxData() int { return way.Largest(e.peer.Addr()) - HeaderBytes }

func (e *Endpoint) maySend(data []byte) error {
	switch {
	case e.side != FromServer:
		return ErrClient
	case e.state != StateOpen || e.leaving.pending():
		return ErrClosed
	case len(data) == 0 || len(data) > e.MaxData():
		return ErrDataSize
	}
	return nil
}

// sendLoose sends an unreliable packet.
func (e *Endpoint) sendLoose(now time.Time, data []byte) error {
	if now.Sub(e.heard) >= hushAfter {
		e.stats.Hushed++
		return ErrWindowFull
	}
	// "at least one of any 2,048 consecutive numbers is a reliable packet": its ack
	// moves the span of numbers on.
	if e.sender.SinceReliable() >= reliableEvery-1 {
		e.beat(now)
	}
	n, err := e.sender.Take(now, HeaderBytes+len(data))
	if err != nil {
		return err
	}
	e.loose.Put(e.encode(&Packet{Kind: KindEntity, Sequence: uint16(n), Data: data}))
	for e.loose.Held() > maxLooseBytes {
		e.stats.LooseLost++
		e.loose.Drop(e.buffers)
	}
	return nil
}

// sendReliable gives an entity packet to the engine, with the next number.
func (e *Endpoint) sendReliable(now time.Time, p *Packet, o reliable.Options) error {
	p.Kind, p.Reliable, p.Sequence = KindEntity, true, uint16(e.sender.Next())
	b := e.encode(p)
	err := e.sender.Send(now, b, o)
	e.buffers.Give(b)
	return err
}

// sendOrdered sends an ordered packet if its turn has come, or lets it wait.
func (e *Endpoint) sendOrdered(now time.Time, data []byte) error {
	if e.ordered.Len() == 0 && e.passOrdered(now, data) {
		return nil
	}
	if e.ordered.Held()+len(data)+queue.PacketOverhead > maxOrderedBytes {
		return ErrWindowFull
	}
	e.ordered.Put(append(e.buffers.Take(len(data))[:0], data...))
	return nil
}

// pump moves ordered packets that wait into the window.
func (e *Endpoint) pump(now time.Time) {
	for e.ordered.Len() > 0 && e.passOrdered(now, e.ordered.First()) {
		e.ordered.Drop(e.buffers)
	}
}

// passOrdered gives the engine an ordered packet if its turn has come: "the sender keeps one
// ordered packet in flight", which is safe with every receiver.
func (e *Endpoint) passOrdered(now time.Time, data []byte) bool {
	return e.sender.InFlight(laneEntity) == 0 &&
		e.sendReliable(now, &Packet{Ordered: true, Data: data}, reliable.Options{Lane: laneEntity}) == nil
}

// beat sends an empty packet: "A server that has sent a peer nothing reliable for 1 s sends
// it an empty reliable entity packet". If the window is full, enough is on its way that a
// peer that lives has to acknowledge.
func (e *Endpoint) beat(now time.Time) {
	e.nextBeat = now.Add(e.cfg.KeepAlive)
	if e.sendReliable(now, &Packet{}, reliable.Options{}) == nil {
		e.stats.Beats++
	}
}

// afterEngine looks at what the engine decided.
func (e *Endpoint) afterEngine(now time.Time) {
	if e.sender.Failed() == reliable.ReasonUnacknowledged {
		e.end(Close{Reason: ReasonUnacknowledged})
		return
	}
	for l, ok := e.sender.PollLost(); ok; l, ok = e.sender.PollLost() {
		if l.Tag != 0 {
			e.tell(EventLost, l.Number, l.Tag)
		}
	}
	e.pump(now)
	e.leave(now)
}

// encode returns a packet in a lent buffer.
func (e *Endpoint) encode(p *Packet) []byte {
	return p.AppendTo(e.side, e.buffers.Take(HeaderBytes + 2 + len(p.Reason) + len(p.Data))[:0])
}

// put queues a packet of the connection itself.
func (e *Endpoint) put(p *Packet) {
	if e.control.Len() >= maxControl {
		e.stats.ControlOut++
		return
	}
	e.control.Put(e.encode(p))
}
