package core

import (
	"encoding/binary"
	"net/netip"
	"time"

	"parley/internal/admission"
)

// EntryConfig sets up an EntryLobby. The zero EntryConfig is usable.
type EntryConfig struct {
	// Unproven has an address judged with its first valid package, as the document describes, and challenges it later. See
	// OpenConfig.Unproven. Only a package that begins as a pass does (T, R or S) is taken for one, and nobody is told a
	// refusal.
	Unproven bool

	// GameCodes is how many first bytes, from 0 on, the game's own messages to the server have. A package that begins with one of
	// them is never a pass: a client without a pass may send it before it is let in, and it is delivered afterwards. Default 0:
	// whatever comes first is the pass.
	GameCodes uint8

	// Rules are the rules for packages. The zero value means the rules of docs/protocols/relay.md.
	Rules Rules
}

// EntryLobby is the lobby of a server with many rooms, where judging a newcomer takes time. It reports each proven address to the game
// with EventPass and the pass that it showed, if any. The game puts it into a room with Newcomer.Admit, or turns it away with
// Newcomer.Refuse, then or later. Until then the newcomer is no peer: it is in no room, and nothing that it sends is confirmed,
// so that all of it comes again.
//
// The pass is the first reliable package to the server that is not empty (and none of EntryConfig.GameCodes), and its id is less than that of
// the challenge's answer.
// Ids have no gaps, and nothing before the verdict is confirmed. So when all smaller ids have come again, it is certain
// whether there is a pass, whatever was lost. A package behind the answer is no pass.
type EntryLobby struct {
	cfg     EntryConfig
	waiting newcomers
	stats   EntryStats
}

// EntryStats counts what newcomers did.
type EntryStats struct {
	Challenged uint64 // packages of unproven addresses that were answered with a challenge
	Proven     uint64 // right answers to a challenge
	Wrong      uint64 // wrong, outdated or unreliable answers
	Crowded    uint64 // right answers that were dropped, as too many newcomers of one host wait, or in all

	Shown    uint64 // newcomers with a pass that the game was told of
	None     uint64 // newcomers without a pass that the game was told of
	Early    uint64 // packages that newcomers sent while they were judged; the reliable ones come again
	Admitted uint64 // newcomers that the game let in
	Refused  uint64 // newcomers that the game refused
	Expired  uint64 // newcomers that did not show what they had announced, or got no verdict, in 10 s
}

// NewEntryLobby returns the lobby of a server with many rooms.
func NewEntryLobby(c EntryConfig) *EntryLobby { return &EntryLobby{cfg: c} }

// Stats returns the counters.
func (l *EntryLobby) Stats() EntryStats { return l.stats }

// Rules returns EntryConfig.Rules.
func (l *EntryLobby) Rules() Rules { return l.cfg.Rules }

// Admit admits nobody: it looks for the answer to the challenge and for a pass, and has the game told. A wrong answer gets no reply, so that
// two servers do not challenge each other forever.
func (l *EntryLobby) Admit(now time.Time, port *Port, from netip.AddrPort, first Package) (any, bool) {
	n := l.waiting.get(now, l, from)
	switch {
	case n == nil && l.cfg.Unproven:
		if first.Server && isChallenge(first.Payload) {
			l.stats.Wrong++
			return nil, false
		}
		if n = l.welcome(now, port, from); n != nil {
			n.begins(first)
		}
	case n == nil:
		if !l.proves(port, from, first) {
			return nil, false
		}
		if n = l.welcome(now, port, from); n != nil {
			n.answer, n.answered = first.ID, true
		}
	case n.shown:
		l.stats.Early++
		return nil, false
	default:
		n.look(first)
	}
	if n != nil && n.isSettled() {
		l.show(n)
	}
	return nil, false
}

// proves reports whether a package is the right answer of its sender, which is challenged if it is none.
func (l *EntryLobby) proves(port *Port, from netip.AddrPort, first Package) bool {
	switch {
	case !first.Server || !isChallenge(first.Payload):
		l.stats.Challenged++
		port.Challenge(from)
	case !first.Mode.Reliable() || !port.Answers(from, first.Payload): // an unreliable id says nothing of what was sent before
		l.stats.Wrong++
	default:
		l.stats.Proven++
		return true
	}
	return false
}

// full is Admit when there are too many peers: a proven address is told so.
func (l *EntryLobby) full(now time.Time, port *Port, from netip.AddrPort, first Package) {
	if !l.cfg.Unproven && l.waiting.get(now, l, from) == nil && l.proves(port, from, first) {
		l.stats.Refused++
		port.Refuse(from, refusedFull)
	}
}

// welcome begins to wait for what a newcomer shows, nil if there are too many.
func (l *EntryLobby) welcome(now time.Time, port *Port, from netip.AddrPort) *Newcomer {
	n := &Newcomer{lobby: l, port: port, addr: from, from: admission.SourceOf(port.mux.cfg.Sessions, from), until: now.Add(waitingLife)}
	if !l.waiting.add(n) {
		l.stats.Crowded++
		return nil
	}
	return n
}

// show has the game told of a newcomer.
func (l *EntryLobby) show(n *Newcomer) {
	n.shown = true
	if n.pass != nil {
		l.stats.Shown++
	} else {
		l.stats.None++
	}
	n.port.mux.newcomers.Push(n)
}

// Enter does nothing: Newcomer.Admit has put the peer into its room.
func (l *EntryLobby) Enter(time.Time, *Peer) {}

// entrySeat is what the lobby knows of a peer that was let in without proof.
type entrySeat struct{ nonce uint64 }

// challenge asks a peer that was let in without proof for one.
func (l *EntryLobby) challenge(p *Peer) {
	nonce := p.port.mux.Rand()
	p.Seat = entrySeat{nonce}
	challenge := binary.BigEndian.AppendUint64([]byte{challengeByte}, nonce)
	_ = p.Send(Unordered, challenge) // nothing else was sent yet, so there is room
}

// Receive relays packages for the other participants of the room. Packages for the server go to the game, except for answers
// to challenges.
func (l *EntryLobby) Receive(_ time.Time, p *Peer, pkg Package) bool {
	if !pkg.Server {
		if p.Room() != nil {
			_ = p.Room().Relay(p, pkg.Mode, pkg.Payload) // a package that came has a size and a mode
		}
		return false
	}
	nonce, isAnswer := readChallenge(pkg.Payload)
	if seat, ok := p.Seat.(entrySeat); ok && isAnswer && nonce == seat.nonce {
		p.Prove()
	}
	return !isAnswer
}

// Gone does nothing: the peer is out of its room, and the game is told.
func (l *EntryLobby) Gone(time.Time, *Peer, Close) {}
