package core

import (
	"net/netip"
	"time"

	"parley/internal/lend"
)

// direct is a datagram that is ready for the wire: of a package that was passed on to a peer for
// which nothing waited. "One datagram in, N − 1 out": for most of the N − 1 the peer's memory,
// which is cold, is then looked at once, and not again to queue the package, to find it in the
// queue, and to find that nothing is left there.
type direct struct {
	to      netip.AddrPort
	payload *lend.Shared
	id      uint32
	flags   uint8
}

// mayGoDirect reports whether a package may be sent past the queues of the peer: nothing is in
// them, there is no bound on what its address is sent, and its timer stands as it is.
func (p *Peer) mayGoDirect(now time.Time, mode Mode) bool {
	return p.port.direct.Len() < maxDirect && p.end.looseOut.Len() == 0 && p.end.backlog.Len() == 0 &&
		p.end.allowance.Proven() && p.end.sender.Pressure().Packets == 0 && p.timerHolds(now, mode)
}

// timerHolds reports whether what the peer said when it rested is not changed by one more package:
// it is called before that is due to be sent again, and not so soon that a confirmation may go along
// with it. A peer that has yet to rest in this turn will say anew.
func (p *Peer) timerHolds(now time.Time, mode Mode) bool {
	if p.busy {
		return true
	}
	wait := p.rested.Sub(now)
	return wait > p.end.rules.ConfirmAfter/4 && (mode == Unreliable || wait < p.end.rules.send.MinRTO && !p.end.sender.Doubling())
}

// sendDirect sends a package that may go direct, or leaves it in the engine for its turn.
func (p *Peer) sendDirect(now time.Time, mode Mode, server bool, payload *lend.Shared, from *Peer) error {
	d := direct{to: p.end.peer, payload: payload, flags: packageFlags(mode, server), id: p.end.nextLoose}
	if mode == Unreliable {
		p.end.nextLoose = (p.end.nextLoose + 1) & MaxID
		p.end.beside(HeaderBytes + len(payload.Bytes()))
		payload.Retain()
	} else if err := p.end.sendFrom(now, outgoing{payload: payload, flags: d.flags}, from); err != nil {
		return err
	} else if !p.takeDirect(now, &d) {
		p.port.load(p)
		return nil
	}
	p.end.ride = p.busy
	p.end.out++
	p.port.direct.Push(d)
	p.port.note()
	return nil
}

// takeDirect takes what the engine has to send. That is the package that it was given, or, in
// the midst of losses, a copy of an earlier one.
func (p *Peer) takeDirect(now time.Time, d *direct) bool {
	next := p.end.sender.Next()
	t, ok := p.end.sender.Poll(now)
	if !ok {
		return false
	}
	d.id, d.flags = uint32(t.Number)&MaxID, uint8(t.Tag)
	if t.Number+1 == next {
		d.payload.Retain()
		return true
	}
	d.payload = p.end.shared.buffers.Share(t.Packet)
	p.port.load(p) // for the package itself
	return true
}

// transmitDirect writes the oldest of the port's.
func (p *Port) transmitDirect(buf []byte) (int, netip.AddrPort) {
	d := p.direct.First()
	to := d.to
	b := appendHeader(buf[:0], d.flags, d.id)
	if d.payload != nil {
		b = append(b, d.payload.Bytes()...)
		p.mux.shared.buffers.Release(d.payload)
	}
	n := len(b)
	p.direct.Pop()
	return n, to
}
