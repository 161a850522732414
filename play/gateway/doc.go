// Package gateway connects dialects and the world: it turns packets into inputs and views into packets.
// There is one file for each dialect, and one Hub for all: names, players, chat and actions cross
// dialects there.
//
// # Life of an input
//
//	a server's loop    the dialect's handler parses a packet into a request (replica.go, …; play/message has the bytes)
//	door.go            the seat of the connection asks for it, whatever the dialect
//	inbox.go           it waits for the tick, bounded for each connection
//	hub.go             the tick takes all requests: enter, steer, act, speak
//	gate.go            passes are judged when they come, and spent (spent.go) when their player enters
//	held.go            inputs for a later tick wait for it
//	world              Step
//	chunks.go          which players are sent terrain in this tick; land.go makes it
//	crew.go            Publish of each dialect, at the same time on all cores, while all loops are paused
//	replica.go, …      the view of each player becomes packets, which the loops then send
//
// # Ownership
//
// The hub's goroutine owns the world, all players and their views. A dialect's loop owns its connections.
// To publish, the hub visits all loops, which are paused meanwhile, and its crew tells the players of
// each dialect: it reads the world, and changes what is the dialect's own. A loop touches nothing of the
// hub but the inbox, so there is no other lock. A packet waits some milliseconds while a tick publishes,
// and otherwise only if it is for the world.
package gateway
