package realm

import "fmt"

// EventKind says what happened. The set is closed.
type EventKind uint8

const (
	// EventOpened: the versions agree. A client has the server's config, which is Message.
	EventOpened EventKind = iota + 1
	// EventRegister: at a server, a client wants an account: Question. It is answered by
	// AnswerRegister.
	EventRegister
	// EventLogin: at a server, a client wants in: Question. It is answered by AnswerLogin.
	EventLogin
	// EventEnter: at a server, the log-in was answered with yes, and the game is to let the
	// player in by Enter, or not by Refuse. Question says who it is.
	EventEnter
	// EventRegistered: at a client, the answer to a registration: Message.Code.
	EventRegistered
	// EventLoggedIn: at a client, the answer to a log-in: Message.Code.
	EventLoggedIn
	// EventMessage: one of the game's messages came: Message, and Tick if it has one.
	EventMessage
	// EventRefused: at a server, an entity_update or action_do came whose tick is too far from
	// now. It is not to be done; the game sends the client a correcting entities_update.
	EventRefused
	// EventClosed: the connection is over; Close says why. It is the last event.
	EventClosed
)

var eventNames = [...]string{"unset", "opened", "register", "login", "enter", "registered", "logged in", "message", "refused", "closed"}

// String returns the kind's name.
func (k EventKind) String() string { return nameOf(k, eventNames[:]) }

// Event is what PollEvent returns. Message is valid until the next call of any method of the
// endpoint.
type Event struct {
	Kind     EventKind
	Message  *Message
	Tick     uint64 // of Message, "read as the absolute tick nearest to now"; see Mux.BeginTick for one that is behind
	Question Question
	Close    Close
}

// Question is a registration or a log-in that waits for its answer.
type Question struct {
	Number   uint64 // of this connection's questions
	Name     string
	Password string
}

// String leaves the password out, so that no log has it.
func (q Question) String() string { return fmt.Sprintf("question %d of %q", q.Number, q.Name) }

// GoString is String: also %#v shows no password.
func (q Question) GoString() string { return q.String() }

// Reason is why a connection ended.
type Reason uint8

const (
	// ReasonClosed: we were asked to close it.
	ReasonClosed Reason = iota + 1
	// ReasonPeer: the peer sent an exit; Exit is its code.
	ReasonPeer
	// ReasonTimeout: nothing came for too long.
	ReasonTimeout
	// ReasonVersion: the versions do not agree.
	ReasonVersion
	// ReasonSlow: the version or the log-in did not come in time.
	ReasonSlow
	// ReasonProtocol: the peer broke the rules; Text says how.
	ReasonProtocol
	// ReasonOverflow: the peer does not read what it is sent.
	ReasonOverflow
	// ReasonCrowded: too many others wait to log in.
	ReasonCrowded
	// ReasonStream: the stream ended without an exit; Text says how.
	ReasonStream
)

var reasonNames = [...]string{"unset", "closed", "peer left", "timeout", "version", "too slow", "protocol error", "reads too slowly",
	"too many others", "stream ended"}

// String returns the reason in words.
func (r Reason) String() string { return nameOf(r, reasonNames[:]) }

// nameOf returns the name of a value of a closed set; the zero one's for what is none.
func nameOf[T ~uint8](v T, names []string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return names[0]
}

// Close is how a connection ended: by whom, why, and with which exit code. The code means
// nothing if the stream ended without one.
type Close struct {
	Reason Reason
	Remote bool // the peer ended it
	Exit   ExitCode
	Text   string
}

// Error makes a Close an error for those who wait for one.
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
