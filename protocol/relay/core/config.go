package core

import (
	"net/netip"
	"time"
)

// Config sets up a server or a client. The zero Config is usable: an open room, and a client
// without a ticket. Config must not be changed after use.
type Config struct {
	// Lobby decides which clients a server admits and what happens to their packages. Default: an
	// open room, NewOpenLobby(OpenConfig{}).
	Lobby Lobby

	// MaxPeers bounds the addresses that a server knows, at all of its ports together. Further ones
	// are not admitted. Default 4,096.
	MaxPeers int

	// FirstPort and LastPort are the range of further ports that a server's lobby may open, both
	// included, for a firewall that lets only these through. Default 0: the system chooses.
	FirstPort, LastPort uint16

	// Rules are a client's rules. A server uses the rules of its lobby.
	Rules Rules

	// Ticket is the ticket that a client shows, if its room asks for one (see TicketKey.Issue), or another pass, if its server
	// has many rooms (see EntryLobby). Default none.
	Ticket []byte

	// FlushAfter is how long a message given to a client's Queue may wait for others to share its
	// package. Default 10 ms. If negative, it is sent at the end of the loop's turn.
	FlushAfter time.Duration

	// Sessions, at a server, knows the true addresses of clients in browsers, which the server's own addresses do not reach. Package parley sets
	// it. Default: there are none.
	Sessions interface {
		Source(peer netip.AddrPort) netip.AddrPort
	}

	// Banned, at a server, reports whether an address is banned at the time now. What comes from a banned address is dropped and counted
	// before anything else is done, and has no answer. Any goroutine may call it, for each datagram, so it must
	// not block. Default: nobody is banned.
	Banned func(now time.Time, from netip.Addr) bool

	// Log, if set, gets a line for each participant that joins or leaves. Default none.
	Log *Logger
}
