package core

import (
	"net/netip"
	"time"

	"parley/internal/reliable"
	"parley/internal/serial"
)

// A Doorman is a Lobby that also decides before a package is confirmed, remembers the ids of former peers, and can check whether
// an address receives datagrams. The methods are optional: a Mux uses them if its Lobby has them. The functions of this file that
// take a Peer are for a Doorman.
type Doorman interface {
	Lobby

	// Accept decides about a peer's new reliable package, unless it is empty, before it is confirmed. If Accept returns false,
	// the package is dropped as if lost, and comes again: "what is throttled is not confirmed". The payload is valid until
	// Accept returns.
	Accept(now time.Time, p *Peer, pkg Package) bool

	// Resume returns the earlier progress of an address at a port. It is called before the address becomes a peer there. The
	// zero value is for a new address.
	Resume(port *Port, addr netip.AddrPort) Progress

	// Confirmed is called for a confirmation from an address that is no peer at the port, or from a peer that was asked to
	// prove its address (Expect). ReadIDs reads ids. If Confirmed returns true, an address that is no peer becomes one,
	// with that seat.
	Confirmed(now time.Time, port *Port, from netip.AddrPort, ids []byte) (seat any, ok bool)
}

// Progress is how far the numbering of a conversation has come.
type Progress struct {
	// Send is the next reliable id to the peer, and Unsure the smallest one that it has not confirmed. The ids between are sent
	// again as empty packages, so that the next reliable package does not wait for them. They are sent just ahead of that
	// package and not before: the peer may hold packages behind them, and would deliver these as if none were missing.
	Send, Unsure uint64
	// Loose is the next unreliable id to the peer.
	Loose uint32
	// Receive is the smallest reliable id of the peer that has not arrived.
	Receive uint64
	// Got are ids ahead of Send that the peer has already received: see Expect.
	Got [3]uint64
}

// ProgressOf returns the progress of the conversation with a peer. If it has ended, that is the progress at its end.
func ProgressOf(p *Peer) Progress {
	if p.end.state == StateClosed {
		return p.end.was
	}
	return p.end.progress()
}

func (e *Endpoint) progress() Progress {
	was := Progress{Send: e.nextID(), Unsure: e.sender.Oldest(), Loose: e.nextLoose, Receive: e.receiver.Complete()}
	if e.rare != nil && e.expected != nil {
		was.Got = e.expected.ids
	}
	return was
}

// resume begins a conversation where it was left.
func (e *Endpoint) resume(now time.Time, was Progress) {
	if was == (Progress{}) {
		return
	}
	e.sender = reliable.NewSender(now, was.Unsure, e.rules.send, &e.shared.buffers, e.shared.Rand)
	e.receiver = reliable.NewReceiver(now, was.Receive, e.rules.recv, &e.shared.buffers)
	e.near, e.nextLoose = was.Receive, was.Loose
	if was.Got != ([3]uint64{}) {
		e.seldom().expected = &expected{ids: was.Got}
	}
	if was.Unsure < was.Send {
		e.seldom().resumeAt = was.Send
	}
}

// owes reports whether ids of a former conversation are still to be sent again.
func (e *Endpoint) owes() bool { return e.rare != nil && e.sender.Next() < e.resumeAt }

// payOwed sends them, empty, and reports whether the engine took all.
func (e *Endpoint) payOwed(now time.Time) bool {
	for e.owes() {
		if e.sender.Send(now, nil, reliable.Options{Tag: uint32(packageFlags(Unordered, true))}) != nil {
			return false
		}
	}
	return true
}

// nextID returns the id of the next reliable package.
func (e *Endpoint) nextID() uint64 {
	if e.owes() {
		return e.resumeAt
	}
	return e.sender.Next()
}

// Expect makes the next reliable packages to a peer skip three ids that it has already received as empty packages
// (Port.SendEmpty). If asked is true, Doorman.Confirmed is called for the peer's confirmations. The ids are in ascending order.
func Expect(p *Peer, ids [3]uint64, asked bool) {
	p.end.seldom().expected = &expected{ids: ids, open: asked}
}

// Expects returns the ids that were given to Expect, false if there are none.
func Expects(p *Peer) ([3]uint64, bool) {
	if p.end.rare == nil || p.end.expected == nil {
		return [3]uint64{}, false
	}
	return p.end.expected.ids, true
}

// expected are ids that the peer has got, and that are not to be used for anything else.
type expected struct {
	ids  [3]uint64
	open bool // no answer came yet
}

// passOver sends an empty package for each id that the peer has got already: a repeat to it. So the ids of all
// others stay as they are counted.
func (e *Endpoint) passOver(now time.Time) {
	for _, id := range e.expected.ids {
		if id == e.sender.Next() {
			o := outgoing{flags: packageFlags(Unordered, true)}
			if !e.toEngine(now, &o) {
				return
			}
		}
	}
}

// NextID returns the next reliable id to a peer.
func NextID(p *Peer) uint64 { return p.end.nextID() }

// Held returns how many bytes of a peer's packages wait for smaller ids, including the cost of the missing ids.
func Held(p *Peer) int { return p.end.receiver.Held() }

// Pass sends a peer a package of other participants, with bit 4 of the flags clear. It is for a lobby that packs messages for
// each receiver.
// If Pass returns an error, nothing is sent. The time is that of the latest call of the Mux.
func Pass(p *Peer, mode Mode, payload []byte) error {
	if err := p.end.maySend(mode, payload); err != nil {
		return err
	}
	m := p.port.mux
	shared := m.shared.buffers.Share(payload)
	err := p.give(m.now, mode, false, shared, nil) // of several senders, so it counts as the server's own
	m.shared.buffers.Release(shared)
	if err == nil {
		m.stats.Copies++
	}
	return err
}

// IsNext reports whether id is the smallest reliable id of a peer that has not arrived yet.
func IsNext(p *Peer, id uint32) bool { return uint32(p.end.receiver.Complete())&MaxID == id }

// Forget removes a peer without a goodbye. Its address is not ignored: it may come again at once.
func Forget(p *Peer) {
	p.end.seldom().spared = true
	p.Remove(Close{Reason: ReasonClosed, Text: "forgotten"})
}

// SendEmpty sends an empty reliable unordered package of the server's own to an address, once, with an id that the caller chooses.
// Nothing is stored for it. It returns false if the port is closed or too much is waiting there.
func (p *Port) SendEmpty(to netip.AddrPort, id uint64) bool {
	if p.closed || p.direct.Len() >= maxDirect {
		return false
	}
	p.direct.Push(direct{to: to, id: uint32(id) & MaxID, flags: packageFlags(Unordered, true)})
	p.note()
	return true
}

// accepts asks the Doorman about a datagram of a peer.
func (p *Port) accepts(c *Peer, b []byte) bool {
	m := p.mux
	var d Datagram
	if m.doorman == nil || !d.Parse(b) {
		return true
	}
	if d.Kind == KindConfirmation {
		if c.end.rare != nil && c.end.expected != nil && c.end.expected.open {
			m.doorman.Confirmed(m.now, p, c.end.peer, d.IDs)
		}
		return true
	}
	if !d.Mode.Reliable() || len(d.Payload) == 0 || !c.end.receiver.Fresh(serial.Bits24.Unwrap(c.end.near, d.ID)) {
		return true
	}
	return m.doorman.Accept(m.now, c, Package{Mode: d.Mode, Server: d.ToServer, ID: d.ID, Payload: d.Payload})
}

// introduce takes a confirmation from an address that is no peer.
func (p *Port) introduce(now time.Time, from netip.AddrPort, ids []byte) {
	m := p.mux
	if m.doorman == nil || m.down || m.peers >= m.cfg.MaxPeers {
		m.stats.Strangers++
		return
	}
	if seat, ok := m.doorman.Confirmed(now, p, from, ids); ok {
		p.enter(now, from, seat)
	} else {
		m.stats.Strangers++
	}
}

// isFar reports whether the first reliable package of a stranger is too far off to be one.
func (p *Port) isFar(from netip.AddrPort, id uint32) bool {
	first := uint64(0)
	if p.mux.doorman != nil {
		first = p.mux.doorman.Resume(p, from).Receive
	}
	n := serial.Bits24.Unwrap(first, id)
	return n > first+maxHoles
}
