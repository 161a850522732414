package replica

import "parley/protocol/replica/core"

// The types of package core that users of a server or a client need. Package core documents their fields and methods.
type (
	// Config sets up a server or a client. The zero Config is usable.
	Config = core.Config
	// Conn is a server's connection. Only the handler and a function given to Do may call its methods.
	Conn = core.Conn
	// Mode is the reliability of a message.
	Mode = core.Mode
	// Event is an event of a connection.
	Event = core.Event
	// Close is how a connection ended: by which side, why, and with which text. It is an error.
	Close = core.Close
	// Stats counts the packets of a connection by their fate.
	Stats = core.Stats
	// Store holds the values that a server replicates.
	Store = core.Store
	// Entity is an entity of a Store. All clients that see it share its values.
	Entity = core.Entity
	// Values are the replicated values that a client knows.
	Values = core.Values
)

// The modes.
const (
	// Unreliable messages arrive at most once, in any order.
	Unreliable = core.Unreliable
	// Reliable messages arrive exactly once, in any order.
	Reliable = core.Reliable
	// Ordered messages arrive exactly once, after every ordered message before them.
	Ordered = core.Ordered
)

// Own is the urgency of an entity that its player cannot do without: see Conn.ReplicateBy.
const Own = core.Own

// The kinds of events. A client of a foreign server may also get core.EventSkipped.
const (
	// EventConnected means that the handshake is done. Only servers get it: Dial waits for it.
	EventConnected = core.EventConnected
	// EventMessage is a message; Name, Data, Time, Reliable and Ordered are set.
	EventMessage = core.EventMessage
	// EventLinked means, at a client, that a part of the server's table is known; at the server, that the client has
	// answered all parts.
	EventLinked = core.EventLinked
	// EventReplicated means that values came. Read them with Client.Do.
	EventReplicated = core.EventReplicated
	// EventGone means that an entity has left sight; KindLink and ID identify it.
	EventGone = core.EventGone
	// EventClosed means that the connection has ended; Close has the reason. It is the last event.
	EventClosed = core.EventClosed
	// EventAcked means that the peer has acknowledged the message of SendTagged that had Event.Tag.
	EventAcked = core.EventAcked
)

var (
	// ErrClosed means that the connection has ended or is ending.
	ErrClosed = core.ErrClosed
	// ErrWindowFull means that too much is unacknowledged or queued. Try again later.
	ErrWindowFull = core.ErrWindowFull
	// ErrMessageSize means that the message is larger than the limit, or than a foreign peer or the mode allows.
	ErrMessageSize = core.ErrMessageSize
)
