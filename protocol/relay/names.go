package relay

import "parley/protocol/relay/core"

// The types of package core that every user needs. Package core has the rest: the reasons of a Close, the errors of
// tickets, Rules, Lobby, the codec and the state machines.
type (
	// Config sets up a server or a client. The zero Config is usable.
	Config = core.Config
	// OpenConfig sets up an open room. The zero OpenConfig admits everybody.
	OpenConfig = core.OpenConfig
	// Peer is a client that a server knows.
	Peer = core.Peer
	// Room is a set of peers that exchange packages.
	Room = core.Room
	// Event is an event of a conversation: the exchange of packages between a client and the server.
	Event = core.Event
	// Close is how a conversation ended. It is an error.
	Close = core.Close
	// Mode is the reliability of a package.
	Mode = core.Mode
	// Stats counts the datagrams of one end of a conversation by their fate.
	Stats = core.Stats
	// TicketKey is the secret that the issuer of tickets shares with its servers.
	TicketKey = core.TicketKey
)

// The kinds of events. A server may also get core.EventPass and core.EventAcked.
const (
	// EventJoined means, at a client, that it is in the room; at a server, that a peer has joined a room.
	EventJoined = core.EventJoined
	// EventPackage is a package. A server gets only packages for the server itself.
	EventPackage = core.EventPackage
	// EventLeft means that the conversation has ended; Event.Close has the reason.
	EventLeft = core.EventLeft
)

// The modes of a package.
const (
	// Unreliable packages may be lost, repeated or out of order.
	Unreliable = core.Unreliable
	// Unordered packages are delivered once, as soon as they arrive.
	Unordered = core.Unordered
	// SemiOrdered packages are delivered once, after all reliable packages that were sent before.
	SemiOrdered = core.SemiOrdered
)

// The targets of a client's package.
const (
	// ToOthers sends to all other participants.
	ToOthers = core.ToOthers
	// ToServer sends to the server itself.
	ToServer = core.ToServer
)

// MaxPayload is the size of the largest payload of a package, in bytes.
const MaxPayload = core.MaxPayload

var (
	// ErrClosed means that the conversation has ended or is ending.
	ErrClosed = core.ErrClosed
	// ErrBacklogFull means that too much is unconfirmed, and too much more is queued. Try again later.
	ErrBacklogFull = core.ErrBacklogFull
	// ErrPayloadSize means that the payload does not have 1 to MaxPayload bytes.
	ErrPayloadSize = core.ErrPayloadSize
)

// NewOpenLobby returns the lobby of an open room, for Config.Lobby.
func NewOpenLobby(c OpenConfig) *core.OpenLobby { return core.NewOpenLobby(c) }
