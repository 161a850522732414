// Package arena is the game that parley serves by default, and the example to copy.
// Players walk among walls, throw balls, are hit, lose health and come back.
//
// # Usage
//
//	sim, err := world.New(arena.Game(), world.Config{Seed: 7})
//
// # Files
//
//	arena.go    the kinds, the action, and Step: the rules of a tick
//	terrain.go  the walls, and the free places among them
//
// # What it does not do
//
// It keeps no score and has no teams. Nothing survives a restart.
package arena
