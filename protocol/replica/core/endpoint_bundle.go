package core

import (
	"math"
	"net/netip"
	"time"

	"parley/internal/reliable"
	"parley/internal/wire"
)

// bundling is how far two peers have agreed on bundles: "Each of our own peers (bit 7 both ways), once the connection is
// proven and open, sends an empty reliable message `parley.bundles`".
type bundling uint8

const (
	bundlesTold  bundling = 1 << iota // we have sent it
	bundlesKnown                      // it has come: the ack of it did, or a bundle, which only those send who have it
	bundlesHeard                      // the peer has sent it
)

const (
	bundlesName = "parley.bundles"

	// bundlesTag marks our parley.bundles among what is acknowledged. The tags of a view are far below it.
	bundlesTag = math.MaxUint32
)

// tellBundles says that we take bundles, as soon as it may be said.
func (e *Endpoint) tellBundles(now time.Time) {
	if e.state != StateOpen || !e.extended || e.cfg.NoBundles {
		return
	}
	number := uint16(e.sender.Next())
	b, err := e.sender.Place(now, messageOverhead+len(bundlesName), reliable.Options{Tag: bundlesTag})
	if err != nil {
		return // the window is full: afterEngine tries again
	}
	writeNamed(b, flagReliable, number, e.ServerTime(now), bundlesName, nil)
	e.bundles |= bundlesTold
}

// saysBundles reports whether a message of the peer is its parley.bundles.
func (e *Endpoint) saysBundles(b []byte) bool {
	if !e.extended || flagsOf(b) != flagReliable || len(b) < messageOverhead+len(bundlesName) {
		return false
	}
	name, _ := rereadNamed(b)
	return string(name) == bundlesName
}

// hearBundles takes a new message that may be the peer's parley.bundles. That is not left to the application's reading: the
// peer sends bundles as soon as it has the ack.
func (e *Endpoint) hearBundles(b []byte) {
	if !e.cfg.NoBundles && e.saysBundles(b) {
		e.agreed(bundlesHeard)
	}
}

// agreed notes a step towards an agreement.
func (e *Endpoint) agreed(step bundling) {
	if e.bundles |= step; e.mayBundle() {
		e.sender.Bundle()
		e.receiver.Bundle()
	}
}

// mayBundle reports whether the peer takes bundles: it has said so, and knows that it may get them. Without the latter it
// would refuse those that overtake our own parley.bundles.
func (e *Endpoint) mayBundle() bool {
	const both = bundlesHeard | bundlesKnown
	return e.bundles&both == both
}

// takeOurs takes a datagram of type 7 or 8, or of a type that there is not. "From a peer that has not said it, … types 7 and
// 8 are what any undefined type is"; "a malformed one is dropped whole and counted once".
func (e *Endpoint) takeOurs(now time.Time, b []byte) {
	var p Packet
	if e.bundles&bundlesHeard == 0 || !p.Parse(e.side.Other(), b) {
		e.stats.In++
		e.noteMalformed(now)
		return
	}
	if e.bundles&bundlesKnown == 0 {
		e.agreed(bundlesKnown)
	}
	if p.Kind == KindAckRun {
		e.stats.In++
		e.tookAcks(now, p.Acked, p.Count)
		return
	}
	for packet, rest := cutBundled(p.Bundle.body); ; packet, rest = cutBundled(rest) {
		e.takeBundled(now, packet)
		if len(rest) == 0 || e.state == StateClosed {
			return
		}
	}
}

// takeBundled takes a packet of a bundle that was checked.
func (e *Endpoint) takeBundled(now time.Time, b []byte) {
	e.stats.In++
	switch t := typeOf(b); {
	case t == TypeMessage && e.state == StateOpen:
		e.takeNamed(now, b)
		return
	case t == TypeAckRun:
		e.tookAcks(now, wire.LittleU16At(b, 1), wire.LittleU16At(b, 3))
		return
	case e.takeUsual(now, b):
		return
	}
	var p Packet
	if !p.Parse(e.side.Other(), b) {
		panic("replica: a bundle that was checked holds a packet that is none")
	}
	e.handle(now, &p, b)
}

// packing is a datagram that is being packed: one packet as it is, or several with their sizes.
type packing struct {
	buf     []byte
	most    int // bytes of several
	n       int // bytes so far
	packets int
	acked   int // numbers that they acknowledge
}

// room returns how many bytes the next packet may have. "Datagrams stay within 1,200 bytes."
func (p *packing) room() int {
	switch p.packets {
	case 0:
		return len(p.buf) // whatever it is, it is no smaller alone
	case 1:
		return min(p.most, len(p.buf)) - p.n - 1 - 2*bundledHead
	case MaxBundled:
		return 0
	}
	return min(p.most, len(p.buf)) - p.n - bundledHead
}

// roomBeside is room if so many bytes are to be left for others. A packet that is the first may need all.
func (p *packing) roomBeside(n int) int {
	if p.packets == 0 {
		return p.room()
	}
	return p.room() - n
}

// add adds a packet for which there is room, and returns its bytes in the datagram.
func (p *packing) add(b []byte) []byte {
	if p.packets == 1 { // it was alone so far
		copy(p.buf[1+bundledHead:], p.buf[:p.n])
		p.buf[0] = uint8(TypeBundle)
		little.PutUint16(p.buf[1:], uint16(p.n))
		p.n += 1 + bundledHead
	}
	if p.packets > 0 {
		little.PutUint16(p.buf[p.n:], uint16(len(b)))
		p.n += bundledHead
	}
	p.packets++
	at := p.n
	p.n += copy(p.buf[at:], b)
	return p.buf[at:p.n]
}

// pollBundle is PollTransmit to a peer that takes bundles: "What is to leave at the same moment to the same peer leaves together";
// "Nothing waits for company".
func (e *Endpoint) pollBundle(buf []byte) (int, netip.AddrPort, bool) {
	p := packing{buf: buf, most: e.most()}
	for e.control.Len() > 0 && int(e.control.First().n) <= p.room() {
		c := e.control.First()
		if Type(c.data[0]) == TypeAck {
			p.acked++
		}
		p.add(c.data[:c.n])
		e.control.Pop()
		e.control.Trim()
	}
	e.packAcks(&p, false)
	e.sender.Begin()
	apart := e.packSent(&p)
	for !apart && e.loose.Len() > 0 && len(e.loose.First()) <= p.room() {
		p.add(e.loose.First())
		e.loose.Drop(e.buffers)
	}
	if p.packets == 0 {
		return 0, netip.AddrPort{}, false
	}
	e.packAcks(&p, true)
	for t, ok := e.sender.Ride(e.now, p.room()); ok; t, ok = e.sender.Ride(e.now, p.room()) {
		e.finish(p.add(t.Packet), &t)
	}
	e.stats.Out += uint64(p.packets)
	e.sender.End(p.n)
	return p.n, e.peer, true
}

// packSent adds what the sender has to send. It reports whether unreliable messages that wait are for a later datagram: a tick's values are
// still to come, and what is said of a tick goes along with them.
func (e *Endpoint) packSent(p *packing) (apart bool) {
	beside, values := 0, false
	if n := e.loose.Held(); n > 0 && n <= maxBesideBytes {
		beside = n + e.loose.Len()*bundledHead
	}
	for t, ok := e.sender.Join(e.now, p.roomBeside(beside)); ok; t, ok = e.sender.Join(e.now, p.roomBeside(beside)) {
		b := p.add(t.Packet)
		e.finish(b, &t)
		values = values || typeOf(b) == TypeReplicate
	}
	return beside > 0 && !values && p.packets > 0 && e.sender.Pressure().Packets > 0
}

// looseBytes returns how much room the unreliable messages that wait need beside a packet, so that what is said of a tick leaves in the
// datagram of the tick's values. It is 0 if they do not share datagrams, or are many.
func (e *Endpoint) looseBytes() int {
	n := e.loose.Held()
	if n == 0 || n > maxBesideBytes || !e.mayBundle() {
		return 0
	}
	return n + e.loose.Len()*bundledHead + ownBesideBytes
}

// packAcks adds the acks that are due, or may ride along, in runs.
func (e *Endpoint) packAcks(p *packing, ride bool) {
	var room [ackRunBytes]byte
	for p.acked < MaxAcked && p.room() >= ackRunBytes {
		first, n := e.receiver.AckRun(e.now, MaxAcked-p.acked, ride)
		switch n {
		case 0:
			return
		case 1:
			p.add(appendAck(room[:0], uint16(first)))
		default:
			p.add(appendAckRun(room[:0], uint16(first), uint16(n)))
		}
		p.acked += n
	}
}
