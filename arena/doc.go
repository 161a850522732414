// Package arena is the game that parley serves by default, and the example to copy.
// Players walk among walls, throw balls, are hit, lose health and come back. In a room of the mode Duel they do not come back:
// the room ends, and its result says who has won.
//
// # Usage
//
//	sim, err := world.New(arena.Game(), world.Config{Seed: 7})
//
// # Files
//
//	arena.go    the kinds, the action, and Step: the rules of a tick
//	birth.go    where lives begin: in sight of another player
//	terrain.go  the walls
//
// # What it does not do
//
// It keeps no score and has no teams.
package arena
