package core

import (
	"bytes"
	"errors"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/timers"
)

var (
	// ErrNewcomerGone means that a newcomer no longer waits: it was judged before, 10 s have passed, or the server shuts down.
	ErrNewcomerGone = errors.New("relay: the newcomer no longer waits")
	// ErrRoomClosed means that the room was closed.
	ErrRoomClosed = errors.New("relay: room is closed")
	// ErrFull means that the server has as many peers as it may have.
	ErrFull = errors.New("relay: too many peers")
)

// Newcomer is a client that has proven its address and waits to be let in. It is owned by the goroutine that calls the Mux, and
// may be kept: Admit and Refuse do nothing when it no longer waits. It waits for 10 s at most. A newcomer that is never judged gets no
// answer.
type Newcomer struct {
	//lint:ignore U1000 the heap reaches it by a method of its own
	timer
	lobby *EntryLobby
	port  *Port
	addr  netip.AddrPort
	from  netip.AddrPort // its true address
	until time.Time

	answer   uint32 // the id of the answer to its challenge
	answered bool   // answer is valid
	shown    bool   // the game knows of it
	gone     bool   // it no longer waits

	seen   uint64 // which ids have come, by their bits: those below entryIDs and below answer
	ours   uint64 // which of these are for the lobby alone, and are confirmed when it is let in
	pass   []byte
	passID uint32
}

// Addr returns the newcomer's address. A session of a browser has one that is made up.
func (n *Newcomer) Addr() netip.AddrPort { return n.addr }

// Source returns the newcomer's true address, which rates, counts, bans and logs go by.
func (n *Newcomer) Source() netip.AddrPort { return n.from }

// Pass returns the pass that it has shown, nil if it has none. The bytes are not changed later.
func (n *Newcomer) Pass() []byte { return n.pass }

// Waits reports whether the newcomer still waits to be judged.
func (n *Newcomer) Waits() bool {
	m := n.port.mux
	return !n.gone && !m.down && m.now.Before(n.until)
}

// Admit puts the newcomer into a room, under a name. It is a peer from now on: the game gets its EventJoined next, and may send
// to it at once. With ErrFull and ErrRoomClosed, the newcomer has been told so. The time is that of the latest call of the Mux.
func (n *Newcomer) Admit(room *Room, name string) (*Peer, error) {
	m := n.port.mux
	switch {
	case !n.Waits():
		return nil, ErrNewcomerGone
	case room.closed:
		n.Refuse(refusedRoom)
		return nil, ErrRoomClosed
	case m.peers >= m.cfg.MaxPeers:
		n.Refuse(refusedFull)
		return nil, ErrFull
	}
	n.lobby.waiting.remove(n)
	n.lobby.stats.Admitted++
	m.stats.Refused-- // of its datagrams, the one that showed enough is the one that has let it in
	m.stats.Admitted++
	p := n.port.add(n.addr, nil)
	p.Name = name
	if n.lobby.cfg.Unproven {
		n.lobby.challenge(p)
	} else {
		p.Challenged()
	}
	room.Add(p)
	n.handOver(&p.end)
	p.Join()
	n.port.touch(p)
	return p, nil
}

// handOver has those packages of the newcomer confirmed that were for the lobby alone, so that its client need not send them again.
func (n *Newcomer) handOver(e *Endpoint) {
	for id := range uint32(entryIDs) {
		if n.ours&(1<<id) != 0 {
			e.takes(n.port.mux.now, id)
		}
	}
	if n.answered {
		e.takes(n.port.mux.now, n.answer)
	}
}

// takes takes a reliable package that came before the peer was one, and that goes no further.
func (e *Endpoint) takes(now time.Time, id uint32) {
	e.stats.In++
	e.stats.Confirmable++
	e.pass(now, uint64(id))
	e.near = max(e.near, uint64(id))
}

// Refuse tells the newcomer why it is not let in: "from server, unordered: u8 5, text; then a goodbye". If that is lost, it asks again, and
// the game is told again. Do not refuse a newcomer that is not to be answered.
func (n *Newcomer) Refuse(text string) {
	if !n.Waits() {
		return
	}
	n.lobby.waiting.remove(n)
	n.lobby.stats.Refused++
	if !n.lobby.cfg.Unproven {
		n.port.Refuse(n.addr, text)
	}
}

// begins takes the first package of an address that needs no proof.
func (n *Newcomer) begins(first Package) {
	if first.Mode.Reliable() && first.ID < entryIDs && first.Server && beginsAsPass(first.Payload) {
		n.keep(first)
	}
}

// beginsAsPass reports whether a payload has the first byte of a pass: a ticket, a room or a session.
func beginsAsPass(b []byte) bool {
	return len(b) > 0 && (b[0] == ticketByte || b[0] == 'R' || b[0] == 'S')
}

// look takes a package of a newcomer that has answered its challenge.
func (n *Newcomer) look(pkg Package) {
	if !pkg.Mode.Reliable() || pkg.ID >= n.lookBelow() {
		n.lobby.stats.Early++
		return
	}
	n.seen |= 1 << pkg.ID
	switch {
	case len(pkg.Payload) == 0, pkg.Server && isChallenge(pkg.Payload):
		n.ours |= 1 << pkg.ID
	case pkg.Server && pkg.Payload[0] >= n.lobby.cfg.GameCodes && (n.pass == nil || pkg.ID < n.passID):
		n.keep(pkg)
	}
}

// keep takes a package for the pass.
func (n *Newcomer) keep(pkg Package) {
	if n.pass != nil {
		n.ours &^= 1 << n.passID
	}
	n.pass, n.passID = bytes.Clone(pkg.Payload), pkg.ID
	n.ours |= 1 << pkg.ID
}

// lookBelow is the id below which the pass may be.
func (n *Newcomer) lookBelow() uint32 {
	if !n.answered {
		return 0
	}
	return min(n.answer, entryIDs)
}

// isSettled reports whether it is known if there is a pass, and which it is: all before it has come.
func (n *Newcomer) isSettled() bool {
	below := n.lookBelow()
	if n.pass != nil {
		below = min(below, n.passID)
	}
	before := uint64(1)<<below - 1
	return n.seen&before == before
}

// newcomers are those who wait. The zero value is empty.
type newcomers struct {
	of    map[netip.AddrPort]*Newcomer
	ends  timers.Heap[*Newcomer]
	hosts *admission.Crowd
}

// get returns the newcomer of an address, nil if there is none. It lets go of those whose time is over.
func (w *newcomers) get(now time.Time, l *EntryLobby, addr netip.AddrPort) *Newcomer {
	for n, at, ok := w.ends.First(); ok && !at.After(now); n, at, ok = w.ends.First() {
		w.remove(n)
		l.stats.Expired++
	}
	return w.of[addr]
}

// add adds a newcomer, and reports false when there are too many of its host, or in all.
func (w *newcomers) add(n *Newcomer) bool {
	if w.of == nil {
		w.of, w.hosts = map[netip.AddrPort]*Newcomer{}, admission.NewCrowd(maxWaitingHere)
	}
	if len(w.of) >= maxWaiting || !w.hosts.Enter(n.from.Addr()) {
		return false
	}
	w.of[n.addr] = n
	w.ends.Set(n, n.until, true)
	return true
}

func (w *newcomers) remove(n *Newcomer) {
	n.gone = true
	delete(w.of, n.addr)
	w.ends.Set(n, time.Time{}, false)
	w.hosts.Leave(n.from.Addr())
}
