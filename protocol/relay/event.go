package relay

import "fmt"

// EventKind says what happened. The set is closed.
type EventKind uint8

const (
	// EventJoined: a client is in the room; at a server, a peer has come into one.
	EventJoined EventKind = iota + 1
	// EventPackage: a package came. At a server it is one for the server itself.
	EventPackage
	// EventLeft: it is over; Close says why. It is the last event of a client, and of a
	// peer until its lobby lets it in again.
	EventLeft
)

var eventNames = [...]string{"unset", "joined", "package", "left"}

// String returns the kind's name.
func (k EventKind) String() string { return nameOf(k, eventNames[:]) }

// Event is what PollEvent returns. The payload is valid until the next call of any method
// of the endpoint or the Mux.
type Event struct {
	Kind    EventKind
	Package Package // of EventPackage
	Close   Close   // of EventLeft
}

// Package is a package that came.
type Package struct {
	Mode Mode
	// Server is bit 4: a peer's package is for the server, or a client's is from the
	// server itself and not from another participant.
	Server  bool
	ID      uint32 // the sender's number for it, in 24 bits
	Payload []byte
}

// Reason is why someone is no longer in the room.
type Reason uint8

const (
	// ReasonClosed: we were asked to end it.
	ReasonClosed Reason = iota + 1
	// ReasonLeft: the peer left.
	ReasonLeft
	// ReasonRemoved: the server removed us.
	ReasonRemoved
	// ReasonSilent: nothing valid came for too long.
	ReasonSilent
	// ReasonUnconfirmed: a reliable package was never confirmed.
	ReasonUnconfirmed
	// ReasonHole: a reliable package was missing for too long.
	ReasonHole
	// ReasonSlow: more waited for the peer than its queue holds.
	ReasonSlow
	// ReasonProtocol: the peer sent too much that is no datagram of ours.
	ReasonProtocol
	// ReasonPort: its port of the server was closed.
	ReasonPort
	// ReasonSocket: our socket failed.
	ReasonSocket
	// ReasonRefused: the server does not let us in, and said why.
	ReasonRefused
	// ReasonUnheard: nothing at all came from the server, and another port may do better: see Dial.
	ReasonUnheard
)

var reasonNames = [...]string{"unset", "closed", "peer left", "removed by the server", "silent for too long",
	"a reliable package was never confirmed", "a reliable package was missing for too long", "too slow for what was sent to it",
	"protocol error", "its port was closed", "the socket failed", "the server refused us", "nothing came from the server"}

// String returns the reason in words.
func (r Reason) String() string { return nameOf(r, reasonNames[:]) }

// nameOf returns the name of a value of a closed set; the zero one's for what is none.
func nameOf[T ~uint8](v T, names []string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return names[0]
}

// Close is how it ended: why, and in the words of who asked for it. Nothing of it is on the
// wire, which has no place for a reason.
type Close struct {
	Reason Reason
	Text   string
}

// Error makes a Close an error for those who wait for one.
func (c Close) Error() string {
	if c.Text != "" {
		return fmt.Sprintf("relay: out of the room: %v: %s", c.Reason, c.Text)
	}
	return fmt.Sprintf("relay: out of the room: %v", c.Reason)
}
