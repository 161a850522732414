package duplex

import "fmt"

// EventKind says what happened. The set is closed.
type EventKind uint8

const (
	// EventJoined: the player is in the game, with a feed or without: Up says which. A
	// client then waits for its first EventSynced.
	EventJoined EventKind = iota + 1
	// EventFeed: the feed came back or was lost; Up says which. Without one, updates go
	// over main.
	EventFeed
	// EventUpdate: an update came on the feed; SID and Data count. None comes that is
	// older than one that came before.
	EventUpdate
	// EventSync: a sync came on main; SID and Data count.
	EventSync
	// EventGone: at a client, the element SID is no more.
	EventGone
	// EventSynced: at a client, a sync of everything is complete, and what it did not
	// name is gone; at a server, the client has it.
	EventSynced
	// EventSignal: a signal of the game came; Code and Channel count.
	EventSignal
	// EventQuery: a query came; Code, Data and Channel count, and ID is for Reply.
	EventQuery
	// EventReply: a reply came; Code is that of the query, Status and Data count, and
	// ID is what Query returned.
	EventReply
	// EventClosed: the connection is over; Close says why. It is the last event.
	EventClosed
)

var eventNames = [...]string{"unset", "joined", "feed", "update", "sync", "gone", "synced", "signal", "query", "reply", "closed"}

// String returns the kind's name.
func (k EventKind) String() string { return nameOf(k, eventNames[:]) }

// Event is what PollEvent returns. Data is valid until the next call of any method of
// the endpoint.
type Event struct {
	Kind    EventKind
	Channel Channel // what it came on
	Code    uint8
	Status  uint8 // of a reply: 0 is success
	Up      bool
	SID     int16
	ID      uint32
	Data    []byte
	Close   Close
}

// Reason is why a connection ended.
type Reason uint8

const (
	// ReasonClosed: we were asked to close it.
	ReasonClosed Reason = iota + 1
	// ReasonPeer: the peer closed main.
	ReasonPeer
	// ReasonRefused: the server let nobody in, or not this one.
	ReasonRefused
	// ReasonTimeout: the way into the game took too long.
	ReasonTimeout
	// ReasonProtocol: the peer broke the rules; Text says which.
	ReasonProtocol
	// ReasonSlow: the peer read too little of main.
	ReasonSlow
	// ReasonOverflow: a limit on memory was reached.
	ReasonOverflow
	// ReasonLost: main broke; Text is the system's.
	ReasonLost
	// ReasonCrowded: it had not joined, and made room for a newer one.
	ReasonCrowded
	// ReasonSocket: our own socket of the feed failed.
	ReasonSocket
)

var reasonNames = [...]string{"unset", "closed", "peer left", "refused", "timeout", "protocol error", "too slow to read",
	"out of room", "main was lost", "made room for others", "socket failed"}

// String returns the reason in words.
func (r Reason) String() string { return nameOf(r, reasonNames[:]) }

// nameOf returns the name of a value of a closed set; the zero one's for what is none.
func nameOf[T ~uint8](v T, names []string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return names[0]
}

// Close is how a connection ended: by whom, why, and in which words. The dialect has no
// message for them, so the words of one side never reach the other.
type Close struct {
	Reason Reason
	Remote bool   // the peer ended it
	Text   string // what is known beside the reason
}

// Error makes a Close an error for those who wait for one.
func (c Close) Error() string {
	if c.Text != "" {
		return fmt.Sprintf("duplex: connection ended: %v: %s", c.Reason, c.Text)
	}
	return fmt.Sprintf("duplex: connection ended: %v", c.Reason)
}
