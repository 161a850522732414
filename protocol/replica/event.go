package replica

import "fmt"

// EventKind says what happened. The set is closed.
type EventKind uint8

const (
	// EventConnected: the handshake is done.
	EventConnected EventKind = iota + 1
	// EventMessage: a message came; Name, Data, Time and the flags count.
	EventMessage
	// EventSkipped: an ordered message of a foreign peer came after its place was
	// given up. It is not delivered; Number says which it was.
	EventSkipped
	// EventLinked: at a client, a piece of the server's table is known; at the
	// server, the client has answered all there is.
	EventLinked
	// EventReplicated: values came; Endpoint.Value and EntityValue have them.
	EventReplicated
	// EventGone: an entity has left sight; KindLink and ID say which.
	EventGone
	// EventClosed: the connection is over; Close says why. It is the last event.
	// A client that says goodbye is over at its server a second after: until then it may prove that the goodbye was
	// forged.
	EventClosed
)

// String returns the kind's name.
func (k EventKind) String() string {
	return [...]string{"unset", "connected", "message", "skipped", "linked", "replicated", "gone", "closed"}[min(k, EventClosed)]
}

// Event is what PollEvent returns. Name and Data are valid until the next call
// of any method of the endpoint.
type Event struct {
	Kind     EventKind
	Name     []byte
	Data     []byte
	Time     uint64 // the sender's, in µs of server time
	Number   uint64 // of the packet, unwrapped
	Reliable bool
	Ordered  bool
	KindLink uint16 // of EventGone
	ID       uint8
	Close    Close
}

// Reason is why a connection ended.
type Reason uint8

const (
	// ReasonClosed: we were asked to close it.
	ReasonClosed Reason = iota + 1
	// ReasonPeer: the peer left, or refused us; Text is what it said.
	ReasonPeer
	// ReasonRejected: the server did not accept us; Text is what it said.
	ReasonRejected
	// ReasonTimeout: nothing valid came for too long.
	ReasonTimeout
	// ReasonUnacknowledged: a reliable packet was never acknowledged.
	ReasonUnacknowledged
	// ReasonReplaced: a new connection came from the same address.
	ReasonReplaced
	// ReasonProtocol: the peer broke the rules.
	ReasonProtocol
	// ReasonOverflow: a limit on memory was reached.
	ReasonOverflow
	// ReasonUnknown: the server does not know us, perhaps because it restarted.
	ReasonUnknown
	// ReasonSocket: our own socket failed; Text says how.
	ReasonSocket
)

// String returns the reason in words.
func (r Reason) String() string {
	return [...]string{"unset", "closed", "peer left", "rejected", "timeout", "reliable packet never acknowledged",
		"replaced by a new connection", "protocol error", "out of room", "unknown to the server", "socket failed"}[min(r, ReasonSocket)]
}

// Close is how a connection ended: by whom, why, and in which words.
type Close struct {
	Reason Reason
	Remote bool   // the peer ended it
	Text   string // what the peer said, or what we told it
}

// Error makes a Close an error for those who wait for one.
func (c Close) Error() string {
	if c.Text != "" {
		return fmt.Sprintf("replica: connection ended: %v: %s", c.Reason, c.Text)
	}
	return fmt.Sprintf("replica: connection ended: %v", c.Reason)
}
