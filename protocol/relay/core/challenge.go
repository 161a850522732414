package core

import (
	"encoding/binary"
	"net/netip"
	"time"

	"parley/internal/roster"
	"parley/internal/wire"
)

// The payload of a challenge: u8 255, u64 nonce. Nothing else that the server itself says,
// or is told, in 9 bytes may begin with 255.
const (
	challengeByte  = 255
	challengeBytes = 9
)

// refusalByte begins the payload that tells a newcomer why it is not let in: u8 5, text.
const refusalByte = 5

// The texts of a refusal.
const (
	refusedFull   = "game is full"
	refusedNone   = "room needs a ticket"
	refusedTicket = "ticket is not valid"
	refusedUsed   = "ticket was used"
	refusedRoom   = "no such room"
)

// nonce returns what an address has to send back within a minute: "a keyed hash of address, port
// and a minute, so that nothing at all is kept for an unproven address".
func (m *Mux) nonce(from netip.AddrPort, minute uint32) uint64 { return m.secret.Clock(from, minute) }

func (m *Mux) minute() uint32 { return uint32(m.now.Sub(m.born) / time.Minute) }

// Challenge asks an address that is in no room to prove that it receives datagrams. Nothing is stored for the address.
// The challenge has the server's reliable id 0 and is sent once. It has 41 bytes with the headers of IPv4 and UDP: less
// than three times any datagram that causes it. If the answer admits a peer, Lobby.Enter must call Peer.Challenged.
func (p *Port) Challenge(from netip.AddrPort) {
	var b [HeaderBytes + challengeBytes]byte
	d := append(appendHeader(b[:0], packageFlags(Unordered, true), 0), challengeByte)
	p.reply(from, binary.BigEndian.AppendUint64(d, p.mux.nonce(from, p.mux.minute())))
}

// Answers reports whether a payload is the right answer of an address to a challenge of this minute or the one before.
func (p *Port) Answers(from netip.AddrPort, payload []byte) bool {
	nonce, ok := readChallenge(payload)
	if !ok {
		return false
	}
	minute := p.mux.minute()
	return nonce == p.mux.nonce(from, minute) || minute > 0 && nonce == p.mux.nonce(from, minute-1)
}

// Refuse tells an address that has answered its challenge why it is not admitted: "from server, unordered: u8 5, text;
// then a goodbye". Nothing is stored for the address.
func (p *Port) Refuse(from netip.AddrPort, text string) {
	d := append(appendHeader(nil, packageFlags(Unordered, true), 1), refusalByte)
	p.reply(from, append(d, text[:min(len(text), roster.MaxReply-len(d))]...))
	p.reply(from, appendHeader(nil, farewell.flags, 0))
}

// reply queues a datagram to an address that is in no room. When too many wait, it is not sent: the address asks again.
func (p *Port) reply(to netip.AddrPort, b []byte) {
	if !p.replies.Put(to, b) {
		p.mux.stats.Unanswered++
		return
	}
	p.mux.stats.Answered++
	p.note()
}

// Challenged tells the peer that its address has answered a challenge of Port.Challenge. The address is then proven, and
// our reliable id 0 is used. Call it in Lobby.Enter, before anything is sent to the peer.
func (p *Peer) Challenged() {
	p.end.numberFrom(1)
	p.Prove()
}

// isChallenge reports whether a payload to or from the server is a challenge.
func isChallenge(payload []byte) bool {
	_, ok := readChallenge(payload)
	return ok
}

// readChallenge returns the nonce of a challenge.
func readChallenge(payload []byte) (nonce uint64, ok bool) {
	if len(payload) != challengeBytes {
		return 0, false
	}
	r := wire.Big(payload)
	kind := r.U8("kind")
	nonce = r.U64("nonce")
	return nonce, kind == challengeByte && r.Done()
}
