package realm

import "parley/protocol/realm/core"

// Conn is one client of a server. Only the handler and a function given to Server.Do may call its methods.
type Conn = core.Conn

// Event is an event of a connection.
type Event = core.Event

// The kinds of events that a handler and Client.Events get.
const (
	EventOpened   = core.EventOpened   // at a server: the versions agree
	EventRegister = core.EventRegister // at a server without Accounts: answer with Conn.AnswerRegister
	EventLogin    = core.EventLogin    // at a server without Accounts: answer with Conn.AnswerLogin
	EventEnter    = core.EventEnter    // at a server: answer with Conn.Enter or Conn.Refuse
	EventMessage  = core.EventMessage  // one of the game's messages
	EventRefused  = core.EventRefused  // at a server: a message whose tick is too far from now
	EventClosed   = core.EventClosed   // the connection has ended; it is the last event
)

// Close is how a connection ended. It is an error, which Client.Err returns.
type Close = core.Close

// The answers to a registration and a log-in that were accepted. Package core has the other answers.
const (
	RegisterOK = core.RegisterOK
	LoginOK    = core.LoginOK
)

var (
	// ErrClosed means that the connection has ended or is ending.
	ErrClosed = core.ErrClosed
	// ErrState means that the call is not valid in this state, such as a message of the game before the player is in it.
	ErrState = core.ErrState
	// ErrQueueFull means that too much waits to be written. Try again later.
	ErrQueueFull = core.ErrQueueFull
)
