package connector

import (
	"math"

	"parley/internal/wire"
)

// ToMainKind is a message that a client sends to the main port. The zero kind is unset.
type ToMainKind uint8

// The messages to the main port. On the wire they count from 0.
const (
	ToMainPing  ToMainKind = iota + 1 // asks for a pong with the same number
	ToMainOpen                        // asks for a new game
	toMainKinds = iota
)

var toMainNames = [...]string{"unset", "Ping", "OpenGame"}

// String returns the game's name for the message.
func (k ToMainKind) String() string { return wire.NameOf(k, toMainNames[:]) }

// ToMain is a message from a client to the main port:
//
//	+---+----------+
//	| 0 | ping u32 |          Ping
//	+---+----------+--+
//	| 1 | max players |       OpenGame
//	+---+-------------+
//
// All fields are numbers in the forms of varint.go.
type ToMain struct {
	Kind ToMainKind
	Ping uint32 // for Ping: a number that comes back in the Pong

	// MaxPlayers is the number of the last player that the game admits: "0 is the first
	// player; max_players 2 allows three".
	MaxPlayers uint8
}

func (m *ToMain) read(r *wire.BigReader) {
	*m = ToMain{}
	kind := ToMainKind(readVariant(r, "message", toMainKinds))
	switch kind {
	case ToMainPing:
		m.Ping = uint32(readUint(r, "ping", math.MaxUint32))
	case ToMainOpen:
		m.MaxPlayers = uint8(readUint(r, "max players", MaxPlayer))
	}
	if r.OK() {
		m.Kind = kind
	}
}

// AppendTo appends the message. Fields that its kind does not have are left out. It
// panics if Kind is unset.
func (m *ToMain) AppendTo(b []byte) []byte {
	switch m.Kind {
	case ToMainPing:
		return appendUint(appendVariant(b, uint8(m.Kind)), uint64(m.Ping))
	case ToMainOpen:
		return appendUint(appendVariant(b, uint8(m.Kind)), uint64(m.MaxPlayers))
	}
	panic("connector: AppendTo of a message without a kind")
}

// FromMainKind is a message that the main port sends. The zero kind is unset.
type FromMainKind uint8

// The messages from the main port. On the wire they count from 0.
const (
	FromMainPong      FromMainKind = iota + 1 // answers a Ping
	FromMainOpened                            // a game was opened, at Port
	FromMainOpenError                         // no game was opened, because of Error
	fromMainKinds     = iota
)

var fromMainNames = [...]string{"unset", "Pong", "GameOpened", "GameOpenError"}

// String returns the game's name for the message.
func (k FromMainKind) String() string { return wire.NameOf(k, fromMainNames[:]) }

// OpenError is the reason why no game was opened. The zero value is unset.
type OpenError uint8

// The reasons. On the wire they count from 0.
const (
	OpenDifferentGame OpenError = iota + 1 // the client already has a game
	openErrors                  = iota
)

var openErrorNames = [...]string{"unset", "DifferentGame"}

// String returns the game's name for the reason.
func (e OpenError) String() string { return wire.NameOf(e, openErrorNames[:]) }

// FromMain is a message from the main port to a client:
//
//	+---+----------+
//	| 0 | ping u32 |          Pong
//	+---+----------+
//	| 1 | port u16 |          GameOpened
//	+---+----------+
//	| 2 | error    |          GameOpenError; error 0 is DifferentGame
//	+---+----------+
type FromMain struct {
	Kind  FromMainKind
	Ping  uint32    // for Pong: the number of its Ping
	Port  uint16    // for GameOpened: the game's port, at the address of the main port
	Error OpenError // for GameOpenError
}

func (m *FromMain) read(r *wire.BigReader) {
	*m = FromMain{}
	kind := FromMainKind(readVariant(r, "message", fromMainKinds))
	switch kind {
	case FromMainPong:
		m.Ping = uint32(readUint(r, "ping", math.MaxUint32))
	case FromMainOpened:
		m.Port = uint16(readUint(r, "port", math.MaxUint16))
	case FromMainOpenError:
		m.Error = OpenError(readVariant(r, "error", openErrors))
	}
	if r.OK() {
		m.Kind = kind
	}
}

// AppendTo appends the message. Fields that its kind does not have are left out. It
// panics if Kind, or the Error of a GameOpenError, is unset.
func (m *FromMain) AppendTo(b []byte) []byte {
	switch m.Kind {
	case FromMainPong:
		return appendUint(appendVariant(b, uint8(m.Kind)), uint64(m.Ping))
	case FromMainOpened:
		return appendUint(appendVariant(b, uint8(m.Kind)), uint64(m.Port))
	case FromMainOpenError:
		if m.Error != 0 {
			return appendVariant(appendVariant(b, uint8(m.Kind)), uint8(m.Error))
		}
	}
	panic("connector: AppendTo of a message without a kind or an error")
}
