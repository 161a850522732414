package core

import (
	"fmt"

	"parley/internal/wire"
)

// EventKind is the kind of an event. The constants below are all kinds.
type EventKind uint8

const (
	// EventOpened means that the versions agree. At a client, Message is the server's config.
	EventOpened EventKind = iota + 1
	// EventRegister means, at a server, that a client asks for an account; Question has its name
	// and password. Answer it with Conn.AnswerRegister.
	EventRegister
	// EventLogin means, at a server, that a client wants to log in; Question has its name and
	// password. Answer it with Conn.AnswerLogin.
	EventLogin
	// EventEnter means, at a server, that the log-in was accepted; Question has the player's
	// name. The game answers with Conn.Enter or Conn.Refuse.
	EventEnter
	// EventRegistered means, at a client, that a registration was answered; Message.Code is the
	// answer.
	EventRegistered
	// EventLoggedIn means, at a client, that a log-in was answered; Message.Code is the answer.
	EventLoggedIn
	// EventMessage is one of the game's messages; Message is set, and Tick if the message has one.
	EventMessage
	// EventRefused means, at a server, that the tick of an entity_update or action_do is too
	// far from now. The game does not apply it, but sends the client a correcting
	// entities_update.
	EventRefused
	// EventClosed means that the connection has ended; Close has the reason. It is the last
	// event.
	EventClosed
)

var eventNames = [...]string{"unset", "opened", "register", "login", "enter", "registered", "logged in", "message", "refused", "closed"}

// String returns the kind's name.
func (k EventKind) String() string { return wire.NameOf(k, eventNames[:]) }

// Event is an event of a connection. Message is valid until the next call of any method of the
// endpoint.
type Event struct {
	Kind     EventKind
	Message  *Message
	Tick     uint64 // the tick of Message, "read as the absolute tick nearest to now"; see Mux.BeginTick for a game that is behind
	Question Question
	Close    Close

	// Goodbye means, with EventClosed, that the peer said that it leaves. It is false if the connection was lost (time-out, reset,
	// end of the stream, an exit that reports a network error or a time-out), and if we closed it.
	Goodbye bool
}

// Question is a registration or a log-in that waits for its answer.
type Question struct {
	Number   uint64 // among the questions of this connection
	Name     string
	Password string

	// Room is what follows the last @ of a log-in's name: "name account@room" (entry). Name is what precedes it. It is
	// empty for a name without @, which means the server's first room.
	Room string
}

// String leaves the password out, so that it is not logged.
func (q Question) String() string { return fmt.Sprintf("question %d of %q", q.Number, q.Name) }

// GoString returns String: %#v does not show the password either.
func (q Question) GoString() string { return q.String() }

// Reason is the reason why a connection ended.
type Reason uint8

const (
	// ReasonClosed means that we closed it.
	ReasonClosed Reason = iota + 1
	// ReasonPeer means that the peer sent an exit; Exit is its code.
	ReasonPeer
	// ReasonTimeout means that nothing came for too long.
	ReasonTimeout
	// ReasonVersion means that the versions do not agree.
	ReasonVersion
	// ReasonSlow means that the version or the log-in did not come in time.
	ReasonSlow
	// ReasonProtocol means that the peer broke the protocol; Text says how.
	ReasonProtocol
	// ReasonOverflow means that the peer read too slowly: too many bytes waited for it.
	ReasonOverflow
	// ReasonCrowded means that too many other clients wait to log in.
	ReasonCrowded
	// ReasonStream means that the stream ended without an exit; Text says how.
	ReasonStream
	// ReasonReplaced means that the client's account logged in again, and that the client did not answer a ping.
	ReasonReplaced
)

var reasonNames = [...]string{"unset", "closed", "peer left", "timeout", "version", "too slow", "protocol error", "reads too slowly",
	"too many others", "stream ended", "logged in again elsewhere"}

// String returns the reason in words.
func (r Reason) String() string { return wire.NameOf(r, reasonNames[:]) }

// Close is how a connection ended: by which side, why, and with which exit code. Exit is
// meaningless if the stream ended without one.
type Close struct {
	Reason Reason
	Remote bool // the peer ended it
	Exit   ExitCode
	Text   string
}

// goodbye reports whether the peer left of its own will: an exit with an error's code tells of a broken connection.
func (c *Close) goodbye() bool {
	return c.Reason == ReasonPeer && c.Exit != ExitNetworkError && c.Exit != ExitPingTimeout
}

// Error implements error.
func (c Close) Error() string {
	text := fmt.Sprintf("realm: connection ended: %v", c.Reason)
	if c.Reason != ReasonStream {
		text += fmt.Sprintf(" (exit %v)", c.Exit)
	}
	if c.Text != "" {
		text += ": " + c.Text
	}
	return text
}
