package simnet

import (
	"net/netip"
	"time"
)

// Packet is a datagram that is being sent, as a Filter sees it.
type Packet struct {
	Number uint64 // datagrams sent before it in the whole network
	From   *Host
	To     *Host  // nil if no host has the address
	Bytes  []byte // valid during the call; a Filter may change them
}

// Verdict is a Filter's decision on a datagram. The zero Verdict lets it pass.
type Verdict struct {
	Drop   bool
	Delay  time.Duration // in addition to the link's delay
	Copies int           // the number of extra copies, each with its own way through the link
}

// Filter sets a function that sees each datagram before the network does anything with it. It is for tests that pick
// datagrams: drop the third, change a byte, send one twice. Injected datagrams do not pass through it. nil removes the
// filter.
func (n *Network) Filter(f func(Packet) Verdict) { n.filter = f }

// Inject makes a datagram arrive from any address, as a forged one does. It crosses no link and arrives as the next
// step at this instant. b is copied.
func (n *Network) Inject(from, to netip.AddrPort, b []byte) {
	if len(b) > maxDatagramBytes {
		panic("simnet: injected datagram is larger than UDP can carry")
	}
	from, to = unmap(from), unmap(to)
	dst := n.byAddr[to]
	n.counts.send(len(b))
	sum := sumBytes(b)
	n.trace.datagram(markSend, n.now, nil, dst, sum, len(b), 0)
	if dst == nil {
		n.end(nil, nil, nil, sum, len(b), FateNoHost)
		return
	}
	ref := n.takeDatagram()
	d := &n.datagrams[ref]
	d.from, d.to, d.src, d.dst, d.link = from, to, nil, dst, nil
	d.buf = append(d.buf[:0], b...)
	d.sum = sum
	n.counts.inFlight++
	n.schedule(n.now, eventArrive, ref)
}

// send takes a datagram from a host to where its fate is known or its arrival set.
func (n *Network) send(src *Host, to netip.AddrPort, b []byte) {
	to = unmap(to)
	dst := src.lookup(to)
	var v Verdict
	if n.filter != nil {
		v = n.filter(Packet{Number: n.counts.sent, From: src, To: dst, Bytes: b})
	}
	n.counts.send(len(b))
	src.sent++
	src.sentBytes += uint64(len(b))
	sum := sumBytes(b)
	n.trace.datagram(markSend, n.now, src, dst, sum, len(b), 0)
	switch {
	case v.Drop:
		n.end(src, dst, nil, sum, len(b), FateFiltered)
		return
	case dst == nil:
		n.end(src, dst, nil, sum, len(b), FateNoHost)
		return
	case src.isCut(dst):
		n.end(src, dst, nil, sum, len(b), FatePartition)
		return
	}
	link := n.LinkBetween(src, dst)
	link.counts.send(len(b))
	n.cross(link, src, dst, to, b, sum, v.Delay)
	for range v.Copies {
		n.copied(link, src, dst, sum, len(b))
		n.cross(link, src, dst, to, b, sum, v.Delay)
	}
}

// cross takes one datagram over a link.
func (n *Network) cross(link *Link, src, dst *Host, to netip.AddrPort, b []byte, sum uint32, extra time.Duration) {
	header := header6Bytes
	if to.Addr().Is4() {
		header = header4Bytes
	}
	sentAt, fate := link.enter(n.now, header+len(b))
	if fate != 0 {
		n.end(src, dst, link, sum, len(b), fate)
		return
	}
	sentAt += int64(extra)
	n.fly(link, src, dst, to, b, sum, sentAt, false)
	if link.chance(link.duplicate) {
		n.copied(link, src, dst, sum, len(b))
		n.fly(link, src, dst, to, b, sum, sentAt, true)
	}
}

func (n *Network) copied(link *Link, src, dst *Host, sum uint32, bytes int) {
	n.counts.duplicated++
	link.counts.duplicated++
	n.trace.datagram(markCopy, n.now, src, dst, sum, bytes, 0)
}

// fly sets the arrival of a datagram that came through.
func (n *Network) fly(link *Link, src, dst *Host, to netip.AddrPort, b []byte, sum uint32, sentAt int64, isCopy bool) {
	at, heldBack := link.arrival(sentAt, isCopy)
	if heldBack {
		n.counts.reordered++
		link.counts.reordered++
	}
	ref := n.takeDatagram()
	d := &n.datagrams[ref]
	d.from, d.to, d.src, d.dst, d.link = src.addr, to, src, dst, link
	d.buf = append(d.buf[:0], b...)
	d.sum = sum
	if len(b) > 0 && link.chance(link.corrupt) {
		link.flip(d.buf)
		d.sum = sumBytes(d.buf)
		n.counts.corrupted++
		link.counts.corrupted++
		n.trace.datagram(markCorrupt, n.now, src, dst, d.sum, len(b), 0)
	}
	n.counts.inFlight++
	link.counts.inFlight++
	n.schedule(at, eventArrive, ref)
	if n.counts.inFlight > uint64(n.limits.InFlight) {
		n.fail(src.Name(), "datagrams in flight", n.limits.InFlight)
	}
}

// arrive brings a datagram to its end.
func (n *Network) arrive(ref uint32) {
	// A copy: what the node does may send, and so move the table. The buffer itself does not move.
	d := n.datagrams[ref]
	h := d.dst
	if !n.count(&h.steps) {
		n.failSteps(h.Name(), &h.steps)
		return // the run is over, and the datagram is still under way
	}
	n.counts.inFlight--
	if d.link != nil {
		d.link.counts.inFlight--
	}
	fate := FateDelivered
	switch {
	case h.addr != d.to:
		fate = FateNoHost
	case h.node == nil:
		fate = FateDown
	}
	n.end(d.src, h, d.link, d.sum, len(d.buf), fate)
	if fate == FateDelivered {
		h.datagram(d.from, d.buf)
	}
	n.datagrams[ref].src, n.datagrams[ref].dst, n.datagrams[ref].link = nil, nil, nil
	n.freeDatagrams = append(n.freeDatagrams, ref)
}

// end records the fate of a datagram.
func (n *Network) end(src, dst *Host, link *Link, sum uint32, bytes int, fate Fate) {
	n.counts.end(fate, bytes)
	if link != nil {
		link.counts.end(fate, bytes)
	}
	n.trace.datagram(markEnd, n.now, src, dst, sum, bytes, fate)
}

func (n *Network) takeDatagram() uint32 {
	if k := len(n.freeDatagrams); k > 0 {
		ref := n.freeDatagrams[k-1]
		n.freeDatagrams = n.freeDatagrams[:k-1]
		return ref
	}
	n.datagrams = append(n.datagrams, datagram{})
	return uint32(len(n.datagrams) - 1)
}
