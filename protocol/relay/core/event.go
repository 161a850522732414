package core

import (
	"fmt"

	"parley/internal/wire"
)

// EventKind is the kind of an event. The constants below are all kinds.
type EventKind uint8

const (
	// EventJoined means, at a client, that it is in the room; at a server, that a peer has joined a room.
	EventJoined EventKind = iota + 1
	// EventPackage is a package. A server gets only packages for the server itself.
	EventPackage
	// EventLeft means that the conversation has ended; Close has the reason. It is the last event
	// of a client, and of a peer until its lobby lets it in again.
	EventLeft
	// EventPass means that a newcomer waits to be judged: Newcomer.Admit or Newcomer.Refuse. Only a server with an EntryLobby
	// has it, and there is no peer yet.
	EventPass
	// EventAcked means that the peer has confirmed the package of Peer.SendTagged that had Tag. It comes once for each, at a server
	// only. If the peer ends before, it does not come.
	EventAcked
)

var eventNames = [...]string{"unset", "joined", "package", "left", "pass", "acked"}

// String returns the kind's name.
func (k EventKind) String() string { return wire.NameOf(k, eventNames[:]) }

// Event is an event of a conversation. The payload is valid until the next call of any method of
// the endpoint or the Mux.
type Event struct {
	Kind     EventKind
	Goodbye  bool      // for EventLeft at a server: the peer itself said that it leaves
	Tag      uint32    // for EventAcked
	Package  Package   // for EventPackage
	Close    Close     // for EventLeft
	Newcomer *Newcomer // for EventPass
}

// Package is a received package.
type Package struct {
	Mode Mode
	// Server is bit 4 of the flags. At a server it means that the package is for the server; at a
	// client, that it is from the server itself and not from another participant.
	Server  bool
	ID      uint32 // the sender's number for it, in 24 bits
	Payload []byte
}

// Reason is the reason why a participant is no longer in the room.
type Reason uint8

const (
	// ReasonClosed means that we closed the conversation.
	ReasonClosed Reason = iota + 1
	// ReasonLeft means that the peer left.
	ReasonLeft
	// ReasonRemoved means that the server removed us.
	ReasonRemoved
	// ReasonSilent means that nothing valid came for too long.
	ReasonSilent
	// ReasonUnconfirmed means that a reliable package was never confirmed.
	ReasonUnconfirmed
	// ReasonHole means that a reliable package was missing for too long.
	ReasonHole
	// ReasonSlow means that more was waiting for the peer than its queue holds.
	ReasonSlow
	// ReasonProtocol means that the peer sent too many invalid datagrams.
	ReasonProtocol
	// ReasonPort means that the server's port was closed.
	ReasonPort
	// ReasonSocket means that our socket failed.
	ReasonSocket
	// ReasonRefused means that the server refused us and gave a reason.
	ReasonRefused
	// ReasonUnheard means that nothing at all came from the server. Another local port may work:
	// see relay.Dial.
	ReasonUnheard
)

var reasonNames = [...]string{"unset", "closed", "peer left", "removed by the server", "silent for too long",
	"a reliable package was never confirmed", "a reliable package was missing for too long", "too slow for what was sent to it",
	"protocol error", "its port was closed", "the socket failed", "the server refused us", "nothing came from the server"}

// String returns the reason in words.
func (r Reason) String() string { return wire.NameOf(r, reasonNames[:]) }

// Close is how a conversation ended: the reason, and a text for logs. With ReasonRefused, Text has the
// server's words. Other texts are not sent, as the protocol has no field for them.
type Close struct {
	Reason Reason
	Text   string
}

// Error implements error.
func (c Close) Error() string {
	if c.Text != "" {
		return fmt.Sprintf("relay: out of the room: %v: %s", c.Reason, c.Text)
	}
	return fmt.Sprintf("relay: out of the room: %v", c.Reason)
}
