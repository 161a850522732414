package connector

import "math"

// The limits of the wire, which the message set or its types set. A message over a limit is
// refused while it is read, before anything is stored or allocated for it.
const (
	// MaxPayload is the size of the largest payload of a package in bytes, as in package relay.
	MaxPayload = 504

	// MaxText bounds a chat message in bytes, and so how much text one message can put on all other players' screens. A
	// chat message has at least 1 byte.
	MaxText = 140

	// MaxPoints bounds the points of a path, so that it fits into one package. The count is compared with MaxPoints and
	// with the bytes that follow, before anything is allocated.
	MaxPoints = 60

	// MaxPlayer is the largest number of a player that fits its type. Config.MaxPlayers bounds the players of a game.
	MaxPlayer = math.MaxUint8
)

// What the game's own clients can decode of that. A message beyond ends the whole session of whoever it reaches, so it is
// passed on only if Config.PassForeign says so.
const (
	seatsOfTheGame = 4 // players 0 to 3

	// pointsOfTheGame is the most that they read of a path, although they may write one more.
	pointsOfTheGame = 59
)

// typesOfTheGame is how many types there are of each class of objects: buildings and units.
var typesOfTheGame = [...]uint32{2, 1}

const (
	pointBytes     = 2 * 4
	transformBytes = 7 * 4
)
