// Package arena is the game that parley serves when it is given no other, and
// the example to copy: players walk among walls, throw balls, are hit, lose
// health and come back.
//
// # Usage
//
//	sim, err := world.New(arena.Game(), world.Config{Seed: 7})
//
// # How it is made
//
//	arena.go    the kinds, the action, and Step: what happens in a tick
//	terrain.go  the walls, and where there is room among them
//
// # What it does not do
//
// It keeps no score and has no sides. Nothing of it survives a restart.
package arena
