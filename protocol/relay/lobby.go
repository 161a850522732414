package relay

import (
	"net/netip"
	"time"
)

// A Lobby says who is let in at the ports of a server, who is in which room, and what
// becomes of what they send. The document says nothing of that, so it is left to a
// value that a user may write. OpenLobby is one; package connector has another.
//
// A Mux calls its lobby, never two calls at a time and never from within one. The lobby in turn
// may call all methods of the Mux and of its ports, peers, rooms and timers but the Handle*
// and Poll* ones, whenever it is called. It is given the time and has no clock, goroutine or
// socket: then it runs in a simulation as it does at a socket.
//
// What it builds on:
//
//	Mux.Open, Port.Close             more ports, such as one for each game
//	Port.Invite                      a peer at another port than where it came
//	Port.Value, Peer.Seat            what the lobby itself keeps of a port and a peer
//	Port.NewTimer                    what is to be done later
//	Mux.NewRoom, Room.Add            who exchanges packages with whom
//	Room.Relay, Room.Say             one package to many; its bytes are kept once
//	Peer.Send                        one package of the server's own to one
//	Peer.Join, Peer.Leave            what the game is told
//	Peer.Remove, Peer.Close          out with it: at once, or when it has all that was sent
//	Peer.Prove                       its address is real, and is sent what there is
//	Builder                          several messages in one package
type Lobby interface {
	// Rules returns how the packages of all peers are kept, resent and given up. It is
	// asked once, before anything else.
	Rules() Rules

	// Admit is asked about a package that came from an address that is not known at its port.
	// It reports whether the address becomes a Peer there, and what is to be its Seat. If
	// not, nothing is kept, confirmed or answered, and the next package is asked
	// about again. The payload is valid until it returns. Its cost is what a stranger
	// can cause with any datagram: it should be small.
	Admit(now time.Time, port *Port, from netip.AddrPort, first Package) (seat any, ok bool)

	// Enter is called for a peer that was admitted, before any of its packages: it may be
	// put into a room and sent to.
	Enter(now time.Time, p *Peer)

	// Receive takes a package of a peer: each reliable one once and in the order of its
	// mode. Empty ones do not come here. It reports whether the game gets it, as an
	// EventPackage. The payload is valid until it returns.
	Receive(now time.Time, p *Peer, pkg Package) (toGame bool)

	// Gone is called when a peer is no more, after its last package. It is out of its room
	// already, and nothing reaches it any more. After Join the game gets an EventLeft
	// in any case.
	Gone(now time.Time, p *Peer, why Close)
}
