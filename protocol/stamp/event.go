package stamp

import "fmt"

// EventKind says what happened. The set is closed.
type EventKind uint8

const (
	// EventConnected: the handshake is done. A client's ServerTime counts from here.
	EventConnected EventKind = iota + 1
	// EventEntity: an entity packet came; Data, Time, Number and the flags count.
	EventEntity
	// EventSkipped: an ordered packet came after its place was given up. It is not
	// delivered; Number says which it was. Only a server that has more than one
	// ordered packet in flight, as ours never has, can make it happen.
	EventSkipped
	// EventAcked: a packet of SendReport arrived; Tag and Number count.
	EventAcked
	// EventLost: a packet of SendReport is taken for lost; Tag and Number count. It
	// is not sent again. It may have arrived all the same, and late.
	EventLost
	// EventEntered: at a server, the client has confirmed an entity packet for the first time and has a place
	// among MaxConns from now on. A client that never confirms anything is closed after 10 s: a game
	// sends nothing before this.
	EventEntered
	// EventClosed: the connection is over; Close says why. It is the last event.
	// A client that says goodbye is over at its server a second after: until then it may prove that the goodbye was
	// forged.
	EventClosed
)

var eventNames = [...]string{"unset", "connected", "entity", "skipped", "acked", "lost", "entered", "closed"}

// String returns the kind's name.
func (k EventKind) String() string { return nameOf(k, eventNames[:]) }

// Event is what PollEvent returns. Data is valid until the next call of any
// method of the endpoint.
type Event struct {
	Kind     EventKind
	Reliable bool
	Ordered  bool
	Tag      uint32 // as given to SendReport
	Data     []byte
	Time     uint64 // the sender's when the packet left it, in µs of server time
	Number   uint64 // of the packet, unwrapped
	Close    Close
}

// Reason is why a connection ended.
type Reason uint8

const (
	// ReasonClosed: we were asked to close it.
	ReasonClosed Reason = iota + 1
	// ReasonPeer: the peer left, or made us leave; Text is what it said.
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
	// ReasonUnknown: the server does not know us, perhaps because it restarted.
	ReasonUnknown
	// ReasonSocket: our own socket failed; Text says how.
	ReasonSocket
)

var reasonNames = [...]string{"unset", "closed", "peer left", "rejected", "timeout", "reliable packet never acknowledged",
	"replaced by a new connection", "protocol error", "unknown to the server", "socket failed"}

// String returns the reason in words.
func (r Reason) String() string { return nameOf(r, reasonNames[:]) }

// nameOf returns the name of a value of a closed set; the zero one's for what is none.
func nameOf[T ~uint8](v T, names []string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return names[0]
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
		return fmt.Sprintf("stamp: connection ended: %v: %s", c.Reason, c.Text)
	}
	return fmt.Sprintf("stamp: connection ended: %v", c.Reason)
}
