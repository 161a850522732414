package stamp

import "parley/protocol/stamp/core"

// The types of package core that users of a server or a client need. Package core documents their fields and methods.
type (
	// Config sets up a server or a client. The zero Config is usable.
	Config = core.Config
	// Conn is a server's connection. Only the handler and a function given to Do may call its methods.
	Conn = core.Conn
	// Mode is the reliability of an entity packet.
	Mode = core.Mode
	// Event is an event of a connection.
	Event = core.Event
	// Close is how a connection ended: by which side, why, and with which text. It is an error.
	Close = core.Close
	// Stats counts the packets of a connection by their fate.
	Stats = core.Stats
	// Record is the part of an entity packet for one entity.
	Record = core.Record
)

// The modes.
const (
	// Unreliable packets arrive at most once, in any order.
	Unreliable = core.Unreliable
	// Reliable packets arrive exactly once, in any order.
	Reliable = core.Reliable
	// Ordered packets arrive exactly once, after every ordered packet before them. At most one arrives each round trip.
	Ordered = core.Ordered
)

// The kinds of events.
const (
	// EventConnected means that the handshake is done. Only servers get it: Dial waits for it.
	EventConnected = core.EventConnected
	// EventEntered means, at a server, that the client has confirmed a packet and has a place among MaxConns. A
	// game sends nothing before this event.
	EventEntered = core.EventEntered
	// EventEntity is an entity packet; Data, Time, Number, Reliable and Ordered are set.
	EventEntity = core.EventEntity
	// EventSkipped means that an ordered packet came after we had stopped waiting for it. Parley's servers cause none.
	EventSkipped = core.EventSkipped
	// EventAcked means that a packet sent with SendReport arrived; Tag and Number are set.
	EventAcked = core.EventAcked
	// EventLost means that a packet sent with SendReport is considered lost; Tag and Number are set.
	EventLost = core.EventLost
	// EventClosed means that the connection has ended; Close has the reason. It is the last event.
	EventClosed = core.EventClosed
)

// MaxData is the largest size of an entity packet's data, in bytes.
const MaxData = core.MaxData

var (
	// ErrClosed means that the connection has ended or is ending.
	ErrClosed = core.ErrClosed
	// ErrWindowFull means that too much is unacknowledged or queued. Try again later.
	ErrWindowFull = core.ErrWindowFull
	// ErrDataSize means that the data does not have 1 to MaxData bytes.
	ErrDataSize = core.ErrDataSize
)

// ReadRecords returns an iterator over the records in the data of an entity packet. It does not check them: a client
// that must not act on half a packet calls CheckRecords first.
func ReadRecords(data []byte) core.Records { return core.ReadRecords(data) }

// CheckRecords reports whether data consists of whole records. It returns true for empty data.
func CheckRecords(data []byte) bool { return core.CheckRecords(data) }
