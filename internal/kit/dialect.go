package kit

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/simnet"
)

// Dialect is what the kit knows of a dialect.
type Dialect struct {
	// Name is the part under which promises are recorded.
	Name string

	// Server makes a server core at ServerAddr. The seed is for its random source and its key.
	Server func(now time.Time, seed uint64) Server

	// Client makes a client core that begins to connect to ServerAddr.
	Client func(now time.Time, seed uint64) Client

	// Mute says that clients send nothing.
	Mute bool

	// Ack reports that a datagram of a server is an acknowledgement, for Goodbye.
	Ack func(b []byte) bool
}

// ErrMute is the error of a client that only listens.
var ErrMute = errors.New("kit: this client sends nothing")

// Server is a dialect's server core. A struct that embeds the dialect's *Mux has most of it.
type Server interface {
	simnet.Node
	Advance(now time.Time)
	Len() int
	Opened() uint64    // connections so far
	Malformed() uint64 // datagrams of strangers that were no packets
	Idle() bool        // nothing of a connection that is over is held

	// Next returns the next event.
	Next() (Event, bool)
	// Send sends to a client, and End closes its connection. Both do nothing for a client that is not connected.
	Send(to netip.AddrPort, mode Mode, data []byte) error
	End(who netip.AddrPort)
	// Check returns an error if counters do not add up, or, when no handshake is under way, if one is held.
	Check() error
}

// Client is a dialect's client core. A struct that embeds the dialect's *Endpoint has most of it.
type Client interface {
	simnet.Node
	Open() bool // the handshake is done

	// Next returns the next event.
	Next() (Event, bool)
	// Send sends to the server. A client that only listens returns ErrMute.
	Send(now time.Time, mode Mode, data []byte) error
	// End says goodbye.
	End(now time.Time)
	// Check returns an error if counters do not add up.
	Check() error
}

// Event is what happened to a connection, in words that all dialects share.
type Event struct {
	Kind   Kind
	Peer   netip.AddrPort // at a server
	Conn   any            // at a server: the dialect's *Conn
	Mode   Mode           // of Data
	Bytes  []byte         // valid until the next call
	Time   uint64         // of the sender when it sent Data, in µs of server time
	Reason string         // of Ended; empty is an end without a reason, which no dialect may have
	Remote bool           // the peer ended it
	Text   string         // its words
}

// Kind is the kind of an event.
type Kind uint8

const (
	Other     Kind = iota // the dialect's own
	Connected             // the handshake is done
	Entered               // the client has its place
	Data                  // something that the peer sent with Send
	Skipped               // something came too late to be delivered in its order
	Ended                 // the last event
)

// Mode is how a packet is delivered.
type Mode uint8

const (
	Unreliable Mode = iota // at most once
	Reliable               // once
	Ordered                // once, and in order
)

// Key returns the key of a server that is made from a seed.
func Key(seed uint64) (key admission.Key) {
	binary.LittleEndian.PutUint64(key[:], seed)
	return key
}
