package core

import (
	"net/netip"
	"time"
)

// A Lobby decides which clients are admitted at the ports of a server, which of them share a
// room, and what happens to their packages. The protocol leaves this open, so users can write
// lobbies of their own. OpenLobby is one; package connector has another.
//
// A Mux calls its lobby, one call at a time and never from within another. During a call, the
// lobby may call all methods of the Mux and of its ports, peers, rooms and timers, except
// Handle* and Poll*. It is given the time and has no clock, goroutine or socket, so it runs in
// a simulation as it does with a socket.
//
// A lobby can use:
//
//	Mux.Open, Port.Close             more ports, such as one for each game
//	Port.Invite                      a peer at another port than the one that it sent to
//	Port.Value, Peer.Seat            the lobby's own data for a port and a peer
//	Port.NewTimer                    something to do later
//	Mux.NewRoom, Room.Add            groups of peers that exchange packages
//	Room.Relay, Room.Say             one package to many; its bytes are kept once
//	Peer.Send                        one package of the server's own to one peer
//	Peer.Join, Peer.Leave            events for the game
//	Peer.Remove, Peer.Close          end a peer: at once, or when it has confirmed everything
//	Peer.Prove                       the address is proven: no more limit on bytes to it
//	Builder                          several messages in one package
type Lobby interface {
	// Rules returns the rules for the packages of all peers. It is called once, before anything
	// else.
	Rules() Rules

	// Admit decides about a package from an address that is unknown at the port. It reports
	// whether the address becomes a Peer there, and returns its Seat. If not, the Mux stores,
	// confirms and answers nothing, and calls Admit again for the next package. The payload is
	// valid until Admit returns. Admit should be cheap, as a stranger can cause a call with any
	// datagram.
	Admit(now time.Time, port *Port, from netip.AddrPort, first Package) (seat any, ok bool)

	// Enter is called for an admitted peer before any of its packages. It may put the peer into
	// a room and send to it.
	Enter(now time.Time, p *Peer)

	// Receive takes a package of a peer: each reliable package once and in the order of its
	// mode. It is not called for empty packages. It reports whether the game gets the package,
	// as an EventPackage. The payload is valid until Receive returns.
	Receive(now time.Time, p *Peer, pkg Package) (toGame bool)

	// Gone is called when a peer has ended, after its last package. The peer is already out of
	// its room, and nothing reaches it any more. If it has joined (Peer.Join), the game gets an
	// EventLeft in any case.
	Gone(now time.Time, p *Peer, why Close)
}
