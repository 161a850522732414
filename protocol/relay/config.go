package relay

import "time"

// Config is how a server or a client speaks. The zero Config is usable: an open room, and
// a client without a ticket. It is not changed after use.
type Config struct {
	// Lobby says who is let in at a server and what becomes of their packages. Default
	// an open room: NewOpenLobby(OpenConfig{}).
	Lobby Lobby

	// MaxPeers bounds the addresses that a server knows, at all of its ports together.
	// Further ones are not answered. Default 4,096.
	MaxPeers int

	// FirstPort and LastPort are the further ports that a server's lobby may open, both
	// included: for a firewall that lets only these through. Default 0: the system chooses.
	FirstPort, LastPort uint16

	// Rules are a client's. A server's are its lobby's.
	Rules Rules

	// Ticket is what a client shows to be let in, if its room asks for one: see
	// TicketKey.Issue. Default none.
	Ticket []byte

	// FlushAfter is how long a message that a client gave to Queue may wait for others to share its
	// package. Default 10 ms; negative is no longer than its turn.
	FlushAfter time.Duration

	// Log, if set, gets a line for each who joins and leaves. Default none.
	Log *Logger
}
