package duplex

import "parley/protocol/duplex/core"

type (
	// Config sets up a server or a client. The zero Config is usable, with a Schema that has none of a game's messages.
	Config = core.Config

	// Scene is what a server shows its clients: the elements, and the players who see them. See Server.Do.
	Scene = core.Scene

	// Conn is a server's connection to one client.
	Conn = core.Conn

	// Event is an event of a connection.
	Event = core.Event

	// Close is how a connection ended: by which side, why, and with which text. The reasons are constants of package core.
	Close = core.Close
)

// The kinds of events.
const (
	// EventJoined means that the player is in the game; Up says whether it has a feed.
	EventJoined = core.EventJoined
	// EventFeed means that the feed came back (Up is true) or was lost. Without a feed, updates go over main.
	EventFeed = core.EventFeed
	// EventUpdate is an update on the feed; SID and Data are set.
	EventUpdate = core.EventUpdate
	// EventSync is a sync on main; SID and Data are set.
	EventSync = core.EventSync
	// EventGone means, at a client, that the element SID is gone.
	EventGone = core.EventGone
	// EventSynced means, at a client, that a sync of all elements is complete; at a server, that the client has it.
	EventSynced = core.EventSynced
	// EventSignal is a signal of the game; Code and Channel are set.
	EventSignal = core.EventSignal
	// EventQuery is a query; Code, Data and Channel are set, and ID is for Reply.
	EventQuery = core.EventQuery
	// EventReply is, at a server, the reply to a query; Code is the code of the query, and Status and Data are set.
	EventReply = core.EventReply
	// EventClosed means that the connection has ended; Close has the reason. It is the last event.
	EventClosed = core.EventClosed
)

// The channels: main is TCP, or TLS over it; the feed is UDP.
const (
	Main = core.Main
	Feed = core.Feed
)

// Errors of calls that send. Package core has the errors for messages that are not in the schema.
var (
	// ErrClosed means that the connection has ended or is ending.
	ErrClosed = core.ErrClosed
	// ErrNotJoined means that the player is not in the game yet.
	ErrNotJoined = core.ErrNotJoined
	// ErrQueueFull means that too much waits to be written to main. Try again later.
	ErrQueueFull = core.ErrQueueFull
	// ErrBusy means that too many queries wait for their replies. Try again later.
	ErrBusy = core.ErrBusy
)
