package core

import (
	"bytes"
	"encoding/binary"
	"time"
	"unicode/utf8"

	"parley/internal/queue"
	"parley/internal/reliable"
	"parley/internal/serial"
	"parley/internal/way"
)

// Mode is the reliability of a message.
type Mode uint8

const (
	// Unreliable messages arrive at most once, in any order.
	Unreliable Mode = iota
	// Reliable messages arrive exactly once, in any order.
	Reliable
	// Ordered messages arrive exactly once, after every ordered message before them.
	Ordered
)

// waitingMessages are the ordered messages that wait for the window, as bytes
//
//	time u64 · name size u8 · name · data
//
// of which, of the oldest, the first offset bytes of the data are sent.
type waitingMessages struct {
	queue.Packets
	offset int
	begun  bool
}

// hasRoom reports whether a message in a buffer of n bytes may wait behind the oldest, with so many packets in
// flight: see maxQueuedBytes.
func (q *waitingMessages) hasRoom(n, flights int) bool {
	return q.Len() == 0 || q.Held()-cap(q.First())+n <= max(maxQueuedBytes-flights*flightBytes, leastQueuedBytes)
}

// Send sends a message. Nothing is sent if it returns an error.
func (e *Endpoint) Send(now time.Time, mode Mode, name string, data []byte) error {
	e.now = now
	if err := e.mayTalk(); err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return err
	}
	e.talked = true
	return e.send(now, mode, name, data)
}

// checkName says whether an application may give a message that name.
func checkName(name string) error {
	if len(name) > MaxNameBytes || !utf8.ValidString(name) || isOurs(name) {
		return ErrName
	}
	return nil
}

func (e *Endpoint) mayTalk() error {
	switch e.state {
	case StateConnecting:
		return ErrNotConnected
	case StateAccepted, StateOpen:
		if e.ending == nil || !e.ending.leaving() {
			return nil
		}
	}
	return ErrClosed
}

// isOurs: "Message names that start with `parley.` are ours."
func isOurs(name string) bool { return len(name) >= 7 && name[:7] == "parley." }

func (e *Endpoint) send(now time.Time, mode Mode, name string, data []byte) error {
	size := messageOverhead + len(name) + len(data)
	if err := e.Bounds().checkSize(mode, name, data); err != nil {
		return err
	}
	if mode == Ordered {
		return e.enqueue(now, name, data)
	}
	// "at least one of any 2,048 consecutive numbers is a reliable packet"
	if mode == Reliable || e.sender.SinceReliable() >= reliableEvery-1 {
		return e.sendNamed(now, flagReliable, 0, size, name, data)
	}
	n, err := e.sender.Take(now, size)
	if err != nil {
		return err
	}
	b := e.buffers.Take(size)
	writeNamed(b, 0, uint16(n), e.ServerTime(now), name, data)
	e.loose.Put(b)
	for e.loose.Held()-cap(e.loose.First()) > maxLooseBytes {
		e.stats.LooseLost++
		e.loose.Drop(e.buffers)
	}
	return nil
}

// Bounds are the limits of the messages to one peer. They can be copied, and checked by any goroutine.
type Bounds struct {
	extended   bool
	maxMessage int
	most       int // of an unordered message to one of ours
}

// Bounds returns the limits of the messages to the peer. They are known once the handshake is done.
func (e *Endpoint) Bounds() Bounds { return Bounds{e.extended, e.cfg.MaxMessage, e.most()} }

// Check returns ErrName or ErrMessageSize if Send would.
func (b Bounds) Check(mode Mode, name string, data []byte) error {
	if err := checkName(name); err != nil {
		return err
	}
	return b.checkSize(mode, name, data)
}

// CheckReserved returns ErrName or ErrMessageSize if SendReserved would.
func (b Bounds) CheckReserved(mode Mode, name string, data []byte) error {
	if err := checkReserved(name); err != nil {
		return err
	}
	return b.checkSize(mode, name, data)
}

// checkSize says whether a message is small enough: "A whole message is at most 1 MiB
// (option)"; "A message over 1,200 bytes that is not ordered is an error to the
// caller. With any other peer a message is one datagram".
func (b Bounds) checkSize(mode Mode, name string, data []byte) error {
	size := messageOverhead + len(name) + len(data)
	switch {
	case len(data) > b.maxMessage,
		!b.extended && (size > maxDatagramBytes || len(data) > MaxDataBytes),
		b.extended && mode != Ordered && size > b.most:
		return ErrMessageSize
	}
	return nil
}

// most returns how many bytes a packet to the peer may have that can be split, or shares a datagram.
func (e *Endpoint) most() int { return way.Largest(e.peer.Addr()) }

// sendReliable encodes a packet whose sequence is the next one and gives it to
// the engine.
func (e *Endpoint) sendReliable(now time.Time, p *Packet, size int, o reliable.Options) error {
	if err := e.sender.Ready(size); err != nil {
		return err
	}
	b := p.AppendTo(e.buffers.Take(size)[:0])
	err := e.sender.Send(now, b, o)
	e.buffers.Give(b)
	return err
}

// sendNamed gives a message that is one packet to the engine, in a lane or in none.
func (e *Endpoint) sendNamed(now time.Time, flags, lane uint8, size int, name string, data []byte) error {
	number := uint16(e.sender.Next())
	b, err := e.sender.Place(now, size, reliable.Options{Lane: lane})
	if err != nil {
		return err
	}
	writeNamed(b, flags, number, e.ServerTime(now), name, data)
	return nil
}

// mayFollow returns the order link of the next packet of a lane, and whether it may go
// out now: between our own peers while the predecessor is at most 31 numbers back, with
// any other peer one at a time, "which is safe with every receiver".
func (e *Endpoint) mayFollow(lane uint8) (link uint8, ok bool) {
	if !e.extended {
		return 0, e.sender.InFlight(lane) == 0
	}
	back := e.sender.Link(lane)
	return uint8(min(back, MaxOrderLink)), back <= MaxOrderLink
}

// enqueue takes an ordered message and sends as much of it as may go.
func (e *Endpoint) enqueue(now time.Time, name string, data []byte) error {
	q := &e.outgoing
	if packet := messageOverhead + len(name) + len(data); q.Len() == 0 && packet <= e.most() {
		link, ok := e.mayFollow(laneMessage)
		if ok && e.sendNamed(now, linkFlags|link<<orderLinkShift, laneMessage, packet, name, data) == nil {
			return nil
		}
	}
	size, flights := 9+len(name)+len(data), e.sender.InFlight(0)
	if !q.hasRoom(size, flights) {
		return ErrWindowFull
	}
	m := e.buffers.Take(size)
	if !q.hasRoom(cap(m), flights) {
		e.buffers.Give(m)
		return ErrWindowFull
	}
	binary.LittleEndian.PutUint64(m, e.ServerTime(now))
	m[8] = byte(len(name))
	copy(m[9:], name)
	copy(m[9+len(name):], data)
	q.Put(m)
	e.pump(now)
	return nil
}

// pump moves ordered messages into the window as far as their order allows.
func (e *Endpoint) pump(now time.Time) {
	q := &e.outgoing
	for q.Len() > 0 && e.talking() {
		link, ok := e.mayFollow(laneMessage)
		if !ok {
			return
		}
		p, size := e.nextPart(q.First())
		p.OrderLink = link
		if e.sendReliable(now, &p, size, reliable.Options{Lane: laneMessage}) != nil {
			return
		}
		q.offset += len(p.Data)
		q.begun = true
		if !p.More {
			q.Drop(e.buffers)
			q.offset, q.begun = 0, false
		}
	}
}

// nextPart makes the packet with the next part of a queued message: "a
// continuation has name size 0 and the first part's time".
func (e *Endpoint) nextPart(m []byte) (Packet, int) {
	q := &e.outgoing
	name := m[9 : 9+int(m[8])]
	data := m[9+len(name):][q.offset:]
	if q.begun {
		name = nil
	}
	p := Packet{
		Kind: KindMessage, Reliable: true, Ordered: true, Sequence: uint16(e.sender.Next()),
		Time: binary.LittleEndian.Uint64(m), Name: name, Data: data,
	}
	size := messageOverhead + len(name) + len(data)
	if most := e.most(); e.extended && size > most {
		p.Data = data[:most-messageOverhead-len(name)]
		p.More = true
		size = most
	}
	return p, size
}

// part is a message that was put together.
type part struct {
	name, data []byte
	time       uint64
}

// partial reports whether parts of a message are waiting for more.
func (e *Endpoint) partial() bool { return e.parts != nil && e.parts.Begun() }

// addPart adds a part. The first one's time and name come before its data.
func (e *Endpoint) addPart(p *Packet) (part, reliable.AssemblyFate) {
	if e.parts == nil {
		a := reliable.NewAssembler(e.now, e.cfg.assembly, e.shared.partial)
		a.Owner = e
		e.parts = &a
	}
	e.parts.Arrived = e.parts.Arrived || e.state == StateClosed
	if !e.partial() {
		var head [9 + MaxNameBytes]byte
		binary.LittleEndian.PutUint64(head[:], p.Time)
		head[8] = byte(len(p.Name))
		n := 9 + copy(head[9:], p.Name)
		if _, fate := e.parts.Append(e.now, head[:n], true); fate != reliable.Part {
			return part{}, fate
		}
	}
	m, fate := e.parts.Append(e.now, p.Data, p.More)
	if fate != reliable.Whole {
		return part{}, fate
	}
	name := m[9 : 9+int(m[8])]
	return part{name: bytes.Clone(name), data: m[9+len(name):], time: binary.LittleEndian.Uint64(m)}, fate
}

func unwrapSent(next uint64, seq uint16) uint64 { return serial.Bits16.Unwrap(next, uint32(seq)) }
