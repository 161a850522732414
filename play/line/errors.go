package line

import "errors"

var (
	// ErrNoServer means that nobody answers at an address.
	ErrNoServer = errors.New("no server answers")

	// ErrOtherGame means that the server runs another game than the client's. Fingerprints of schemas are the same for the same
	// kinds, actions and name of a game.
	ErrOtherGame = errors.New("the server runs another game")

	// ErrRefused means that the server does not let the player in.
	ErrRefused = errors.New("the server does not let the player in")

	// ErrSpectator means that clients of this dialect can only watch.
	ErrSpectator = errors.New("client: stamp has spectators only: join over another dialect to play")
)
