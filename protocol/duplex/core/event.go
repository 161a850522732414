package core

import (
	"fmt"

	"parley/internal/wire"
)

// EventKind is the kind of an event. The constants below are all kinds.
type EventKind uint8

const (
	// EventJoined means that the player is in the game; Up says whether it has a feed. A
	// client then waits for its first EventSynced.
	EventJoined EventKind = iota + 1
	// EventFeed means that the feed came back (Up is true) or was lost. Without a feed,
	// updates go over main.
	EventFeed
	// EventUpdate is an update on the feed; SID and Data are set. An update that is older
	// than an earlier one is not delivered.
	EventUpdate
	// EventSync is a sync on main; SID and Data are set.
	EventSync
	// EventGone means, at a client, that the element SID is gone.
	EventGone
	// EventSynced means, at a client, that a sync of all elements is complete, and elements
	// that were not in it are gone; at a server, that the client has it.
	EventSynced
	// EventSignal is a signal of the game; Code and Channel are set.
	EventSignal
	// EventQuery is a query; Code, Data and Channel are set, and ID is for Reply.
	EventQuery
	// EventReply is a reply; Code is the code of the query, Status and Data are set, and ID
	// is the id that Query returned.
	EventReply
	// EventClosed means that the connection has ended; Close has the reason. It is the
	// last event.
	EventClosed
)

var eventNames = [...]string{"unset", "joined", "feed", "update", "sync", "gone", "synced", "signal", "query", "reply", "closed"}

// String returns the kind's name.
func (k EventKind) String() string { return wire.NameOf(k, eventNames[:]) }

// Event is an event of a connection. Data is valid until the next call of any method of
// the endpoint.
type Event struct {
	Kind    EventKind
	Channel Channel // the channel that it came on
	Code    uint8
	Status  uint8 // for a reply: 0 is success
	Up      bool  // for EventJoined and EventFeed: the feed works
	SID     int16 // the id of the element
	ID      uint32
	Data    []byte
	Close   Close

	// Goodbye, for EventClosed, means that the peer closed main in good order, between two messages, as the dialect has no
	// message for it. It is false if main was reset, timed out or broke, and if we closed it. The system of a process that was
	// killed says goodbye in its name, if that had read all that came.
	Goodbye bool
}

// Reason is the reason why a connection ended.
type Reason uint8

const (
	// ReasonClosed means that we closed it.
	ReasonClosed Reason = iota + 1
	// ReasonPeer means that the peer closed main.
	ReasonPeer
	// ReasonRefused means that the server did not admit the client.
	ReasonRefused
	// ReasonTimeout means that joining took too long.
	ReasonTimeout
	// ReasonProtocol means that the peer broke the protocol; Text says how.
	ReasonProtocol
	// ReasonSlow means that the peer read main too slowly.
	ReasonSlow
	// ReasonOverflow means that a limit on memory was reached.
	ReasonOverflow
	// ReasonLost means that main broke; Text has the system's error.
	ReasonLost
	// ReasonCrowded means that the connection had not joined, and made room for a newer one.
	ReasonCrowded
	// ReasonSocket means that our own socket of the feed failed.
	ReasonSocket
)

var reasonNames = [...]string{"unset", "closed", "peer left", "refused", "timeout", "protocol error", "too slow to read",
	"out of room", "main was lost", "made room for others", "socket failed"}

// String returns the reason in words.
func (r Reason) String() string { return wire.NameOf(r, reasonNames[:]) }

// Close is how a connection ended: by which side, why, and with which text. The dialect
// has no message for the text, so it never reaches the other side.
type Close struct {
	Reason Reason
	Remote bool   // the peer ended it
	Status uint8  // at a client whose pass was refused: the status of the reply
	Text   string // more about the reason
}

// Error implements error.
func (c Close) Error() string {
	if c.Text != "" {
		return fmt.Sprintf("duplex: connection ended: %v: %s", c.Reason, c.Text)
	}
	return fmt.Sprintf("duplex: connection ended: %v", c.Reason)
}
