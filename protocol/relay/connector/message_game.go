package connector

import (
	"math"

	"parley/internal/wire"
)

// ToGameKind is a message that a client sends to a game. The zero kind is unset.
type ToGameKind uint8

// The messages to a game. On the wire they count from 0.
const (
	ToGamePing      ToGameKind = iota + 1 // asks for a pong with the same number
	ToGameJoin                            // asks to be a player
	ToGameLeave                           // stops being a player
	ToGameReadiness                       // reports how far the player is
	toGameKinds     = iota
)

var toGameNames = [...]string{"unset", "Ping", "Join", "Leave", "Readiness"}

// String returns the game's name for the message.
func (k ToGameKind) String() string { return wire.NameOf(k, toGameNames[:]) }

// Readiness is how far a player, or a game, has got on the way to the start. The zero value is for a new one.
type Readiness uint8

// The steps, in order. A game is open to new players while it is NotReady, and is played when it is
// Initialized.
const (
	NotReady Readiness = iota
	Ready
	Prepared
	Initialized
)

var readinessNames = [...]string{"NotReady", "Ready", "Prepared", "Initialized"}

// String returns the game's name for the step.
func (v Readiness) String() string {
	if int(v) < len(readinessNames) {
		return readinessNames[v]
	}
	return "unset"
}

// readReadiness reads one of the four steps.
func readReadiness(r *wire.BigReader) Readiness {
	return Readiness(readUint(r, "readiness", uint64(Initialized)))
}

// ToGame is a message from a client to a game:
//
//	+---+----------+
//	| 0 | ping u32 |          Ping
//	+---+----------+
//	| 1 |                     Join
//	+---+
//	| 2 |                     Leave
//	+---+-----------+
//	| 3 | readiness |         Readiness: 0 NotReady, 1 Ready, 2 Prepared, 3 Initialized
//	+---+-----------+
type ToGame struct {
	Kind      ToGameKind
	Ping      uint32    // for Ping: a number that comes back in the Pong
	Readiness Readiness // for Readiness
}

func (m *ToGame) read(r *wire.BigReader) {
	*m = ToGame{}
	kind := ToGameKind(readVariant(r, "message", toGameKinds))
	switch kind {
	case ToGamePing:
		m.Ping = uint32(readUint(r, "ping", math.MaxUint32))
	case ToGameReadiness:
		m.Readiness = readReadiness(r)
	}
	if r.OK() {
		m.Kind = kind
	}
}

// AppendTo appends the message. Fields that its kind does not have are left out. It panics if Kind is
// unset.
func (m *ToGame) AppendTo(b []byte) []byte {
	switch m.Kind {
	case ToGamePing:
		return appendUint(appendVariant(b, uint8(m.Kind)), uint64(m.Ping))
	case ToGameJoin, ToGameLeave:
		return appendVariant(b, uint8(m.Kind))
	case ToGameReadiness:
		return append(appendVariant(b, uint8(m.Kind)), byte(m.Readiness))
	}
	panic("connector: AppendTo of a message without a kind")
}

// FromGameKind is a message that a game sends. The zero kind is unset.
type FromGameKind uint8

// The messages from a game. On the wire they count from 0.
const (
	FromGamePong       FromGameKind = iota + 1 // answers a Ping
	FromGameNotJoined                          // the message is for players only
	FromGameJoined                             // you are Player
	FromGameJoinError                          // you are not a player, because of Error
	FromGameLeft                               // you are no longer a player
	FromGamePeerJoined                         // Player is new
	FromGamePeerLeft                           // Player has left
	FromGameReadiness                          // the game has reached Readiness
	fromGameKinds      = iota
)

var fromGameNames = [...]string{"unset", "Pong", "NotJoined", "Joined", "JoinError", "Left", "PeerJoined", "PeerLeft", "GameReadiness"}

// String returns the game's name for the message.
func (k FromGameKind) String() string { return wire.NameOf(k, fromGameNames[:]) }

// JoinError is the reason why a client did not become a player. The zero value is unset.
type JoinError uint8

// The reasons. On the wire they count from 0.
const (
	JoinGameFull      JoinError = iota + 1 // all seats are taken
	JoinGameNotOpened                      // the game has already been Ready
	JoinAlreadyJoined                      // the client is already a player of this game
	JoinDifferentGame                      // the client has another game
	joinErrors        = iota
)

var joinErrorNames = [...]string{"unset", "GameFull", "GameNotOpened", "AlreadyJoined", "DifferentGame"}

// String returns the game's name for the reason.
func (e JoinError) String() string { return wire.NameOf(e, joinErrorNames[:]) }

// FromGame is a message from a game to a client:
//
//	+---+----------+
//	| 0 | ping u32 |          Pong
//	+---+----------+
//	| 1 |                     NotJoined
//	+---+--------+
//	| 2 | player |            Joined
//	+---+--------+
//	| 3 | error  |            JoinError: 0 GameFull, 1 GameNotOpened, 2 AlreadyJoined, 3 DifferentGame
//	+---+--------+
//	| 4 |                     Left
//	+---+--------+
//	| 5 | player |            PeerJoined
//	+---+--------+
//	| 6 | player |            PeerLeft
//	+---+--------+--+
//	| 7 | readiness |         GameReadiness: 0 NotReady, 1 Ready, 2 Prepared, 3 Initialized
//	+---+-----------+
type FromGame struct {
	Kind      FromGameKind
	Ping      uint32    // for Pong: the number of its Ping
	Player    uint8     // for Joined, PeerJoined and PeerLeft: 0 is the first
	Error     JoinError // for JoinError
	Readiness Readiness // for GameReadiness
}

func (m *FromGame) read(r *wire.BigReader) {
	*m = FromGame{}
	kind := FromGameKind(readVariant(r, "message", fromGameKinds))
	switch kind {
	case FromGamePong:
		m.Ping = uint32(readUint(r, "ping", math.MaxUint32))
	case FromGameJoined, FromGamePeerJoined, FromGamePeerLeft:
		m.Player = readPlayer(r)
	case FromGameJoinError:
		m.Error = JoinError(readVariant(r, "error", joinErrors))
	case FromGameReadiness:
		m.Readiness = readReadiness(r)
	}
	if r.OK() {
		m.Kind = kind
	}
}

func readPlayer(r *wire.BigReader) uint8 { return uint8(readUint(r, "player", MaxPlayer)) }

// AppendTo appends the message. Fields that its kind does not have are left out. It panics if Kind,
// or the Error of a JoinError, is unset.
func (m *FromGame) AppendTo(b []byte) []byte {
	switch m.Kind {
	case FromGamePong:
		return appendUint(appendVariant(b, uint8(m.Kind)), uint64(m.Ping))
	case FromGameNotJoined, FromGameLeft:
		return appendVariant(b, uint8(m.Kind))
	case FromGameJoined, FromGamePeerJoined, FromGamePeerLeft:
		return appendUint(appendVariant(b, uint8(m.Kind)), uint64(m.Player))
	case FromGameJoinError:
		if m.Error != 0 {
			return appendVariant(appendVariant(b, uint8(m.Kind)), uint8(m.Error))
		}
	case FromGameReadiness:
		return append(appendVariant(b, uint8(m.Kind)), byte(m.Readiness))
	}
	panic("connector: AppendTo of a message without a kind or an error")
}
