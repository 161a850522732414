package core

// Elsewhere are the participants of a room that other servers have. It is called while the Mux is.
type Elsewhere interface {
	// Relay passes on what a participant of this server sends to the others. pressed says that it sends more than it may. It returns true if the
	// participant has to wait before its next reliable package: until Room.GoOn.
	Relay(from *Peer, mode Mode, payload []byte, pressed bool) (wait bool)
}

// Connect has a room pass on what its participants send to those of other servers, too.
func (r *Room) Connect(e Elsewhere) { r.elsewhere = e }

// GoOn lets a participant send reliable packages again: see Elsewhere.Relay.
func (r *Room) GoOn(p *Peer) { goesOn(p) }

// Remote is a participant of a room that another server has. Its packages have the same share of the room's rate, and of the queue of each
// receiver, as those of a participant of this server.
type Remote struct {
	peer  Peer // known to no port: it stands for the participant in the lines of receivers
	taken uint64
}

// NewRemote adds a participant of another server to the room.
func (r *Room) NewRemote() *Remote {
	m := r.mux
	x := &Remote{peer: Peer{room: r}}
	x.peer.end.rules, x.peer.end.shared, x.peer.end.state, x.peer.Value = m.rules, m.shared, StateOpen, x
	r.remotes++
	return x
}

// Relay relays a package of the participant to those of this server. It returns false if a reliable one has to come again later. An unreliable
// one beyond its share is dropped. pressed is what its own server says in Elsewhere.Relay.
func (x *Remote) Relay(mode Mode, payload []byte, pressed bool) bool {
	p := &x.peer
	if p.room == nil {
		return true
	}
	if pressed {
		p.end.seldom().refusedAt = p.room.mux.now
	}
	switch {
	case mode.Reliable() && p.waitsFor > 0:
		return false
	case !p.room.mayPass(p):
		return !mode.Reliable()
	}
	p.room.passes(p)
	x.taken++
	_ = p.room.spread(p, mode, false, payload) // it has a size and a mode, or is dropped
	return true
}

// Close takes the participant out of the room. What it has sent is sent all the same.
func (x *Remote) Close() {
	if x.peer.room != nil {
		x.peer.room.remotes--
		x.peer.room = nil
	}
}

// isRemote reports whether the peer stands for a participant of another server.
func (p *Peer) isRemote() bool { return p.port == nil }

// pass passes a package on to other servers.
func (r *Room) pass(from *Peer, mode Mode, payload []byte) {
	if r.elsewhere == nil || from == nil || from.isRemote() {
		return
	}
	pressed := from.end.rare != nil && r.mux.now.Sub(from.end.refusedAt) < fairAfter
	if r.elsewhere.Relay(from, mode, payload, pressed) && mode.Reliable() {
		from.waitsFor++
	}
}
