package core

import (
	"fmt"

	"parley/internal/wire"
)

// EventKind is the kind of an event. The constants below are all kinds.
type EventKind uint8

const (
	// EventConnected means that the handshake is done.
	EventConnected EventKind = iota + 1
	// EventMessage is a message; Name, Data, Time, Reliable and Ordered are set.
	EventMessage
	// EventSkipped means that an ordered message of a foreign peer came after we had stopped waiting for it. It is
	// not delivered; Number is its number.
	EventSkipped
	// EventLinked means, at a client, that a part of the server's table is known; at the server, that the client
	// has answered all parts.
	EventLinked
	// EventReplicated means that values came; Endpoint.Values returns them.
	EventReplicated
	// EventGone means that an entity has left sight; KindLink and ID identify it.
	EventGone
	// EventClosed means that the connection has ended; Close has the reason. It is the last event. When a client
	// says goodbye, its connection ends at the server a second later: until then, the client can prove that the
	// goodbye was forged.
	EventClosed
	// EventAcked means that the peer has acknowledged the message of SendTagged that had Tag. It comes once for each.
	EventAcked
)

// String returns the kind's name.
func (k EventKind) String() string { return wire.NameOf(k, eventNames[:]) }

var eventNames = [...]string{"unset", "connected", "message", "skipped", "linked", "replicated", "gone", "closed", "acked"}

// Event is an event of a connection. Name and Data are valid until the next call of any method of the endpoint.
type Event struct {
	Kind     EventKind
	Name     []byte
	Data     []byte
	Time     uint64 // the sender's time, in µs of server time
	Number   uint64 // the packet's number, without wrap-around
	Reliable bool
	Ordered  bool
	KindLink uint16 // EventGone: the link of the entity's kind
	ID       uint8  // EventGone: the entity's id within its kind
	Goodbye  bool   // EventClosed at a server: the client itself closed the connection
	Tag      uint32 // EventAcked
	Close    Close
}

// Reason is the reason why a connection ended.
type Reason uint8

const (
	// ReasonClosed means that we closed it.
	ReasonClosed Reason = iota + 1
	// ReasonPeer means that the peer closed it; Text has its words.
	ReasonPeer
	// ReasonRejected means that the server did not accept us; Text has its words.
	ReasonRejected
	// ReasonTimeout means that no valid packet came for too long.
	ReasonTimeout
	// ReasonUnacknowledged means that a reliable packet was never acknowledged.
	ReasonUnacknowledged
	// ReasonReplaced means that a new connection came from the same address.
	ReasonReplaced
	// ReasonProtocol means that the peer broke the protocol.
	ReasonProtocol
	// ReasonOverflow means that a limit on memory was reached.
	ReasonOverflow
	// ReasonUnknown means that the server does not know us, perhaps because it restarted.
	ReasonUnknown
	// ReasonSocket means that our own socket failed; Text has the error.
	ReasonSocket
)

// String returns the reason in words.
func (r Reason) String() string { return wire.NameOf(r, reasonNames[:]) }

var reasonNames = [...]string{"unset", "closed", "peer left", "rejected", "timeout", "reliable packet never acknowledged",
	"replaced by a new connection", "protocol error", "out of room", "unknown to the server", "socket failed"}

// Close is how a connection ended: by which side, why, and with which text.
type Close struct {
	Reason Reason
	Remote bool   // the peer ended it
	Text   string // the peer's words, or ours to the peer
}

// Error implements error.
func (c Close) Error() string {
	if c.Text != "" {
		return fmt.Sprintf("replica: connection ended: %v: %s", c.Reason, c.Text)
	}
	return fmt.Sprintf("replica: connection ended: %v", c.Reason)
}
