package core

import (
	"fmt"

	"parley/internal/wire"
)

// EventKind is the kind of an event. The constants below are all kinds.
type EventKind uint8

const (
	// EventConnected means that the handshake is done. A client's ServerTime is valid from here on.
	EventConnected EventKind = iota + 1
	// EventEntity is an entity packet; Data, Time, Number, Reliable and Ordered are set.
	EventEntity
	// EventSkipped means that an ordered packet came after we had stopped waiting for it. It is not delivered; Number
	// is its number. It happens only if a server has more than one ordered packet in flight, which ours never has.
	EventSkipped
	// EventAcked means that a packet sent with SendReport arrived; Tag and Number are set.
	EventAcked
	// EventLost means that a packet sent with SendReport is considered lost; Tag and Number are set. It is not sent
	// again. It may still arrive late.
	EventLost
	// EventEntered means, at a server, that the client has confirmed its first entity packet and now has a place
	// among MaxConns. A client that never confirms anything is closed after 10 s. A game sends nothing before this
	// event.
	EventEntered
	// EventClosed means that the connection has ended; Close has the reason. It is the last event. When a client
	// says goodbye, its connection ends at the server a second later: until then, the client can prove that the
	// goodbye was forged.
	EventClosed
)

var eventNames = [...]string{"unset", "connected", "entity", "skipped", "acked", "lost", "entered", "closed"}

// String returns the kind's name.
func (k EventKind) String() string { return wire.NameOf(k, eventNames[:]) }

// Event is an event of a connection. Data is valid until the next call of any method of the endpoint.
type Event struct {
	Kind     EventKind
	Reliable bool
	Ordered  bool
	Tag      uint32 // as given to SendReport
	Data     []byte
	Time     uint64 // the sender's time when the packet left, in µs of server time
	Number   uint64 // the packet's number, without wrap-around
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
	// ReasonUnknown means that the server does not know us, perhaps because it restarted.
	ReasonUnknown
	// ReasonSocket means that our own socket failed; Text has the error.
	ReasonSocket
)

var reasonNames = [...]string{"unset", "closed", "peer left", "rejected", "timeout", "reliable packet never acknowledged",
	"replaced by a new connection", "protocol error", "unknown to the server", "socket failed"}

// String returns the reason in words.
func (r Reason) String() string { return wire.NameOf(r, reasonNames[:]) }

// Close is how a connection ended: by which side, why, and with which text.
type Close struct {
	Reason Reason
	Remote bool   // the peer ended it
	Text   string // the peer's words, or ours to the peer
}

// Error implements error.
func (c Close) Error() string {
	if c.Text != "" {
		return fmt.Sprintf("stamp: connection ended: %v: %s", c.Reason, c.Text)
	}
	return fmt.Sprintf("stamp: connection ended: %v", c.Reason)
}
