// Package gateway connects dialects and the world: it turns packets into inputs and views into packets.
// Each dialect has a file. All share one Hub, through which names, players, chat and actions reach the
// other dialects.
//
// # Life of an input
//
//	a server's loop    the dialect's handler parses a packet into a request (replica.go, …; play/message has the bytes)
//	service.go         what all dialects have in common: the inbox, the loop that the hub stops, counters
//	door.go            the seat of the connection passes it on, in the same way for all dialects
//	inbox.go           it waits for the tick; each connection may have a bounded number
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
// To publish, the hub pauses all loops. Its crew of goroutines then makes the packets of each dialect: it
// reads the world, and changes only the dialect's own state. Of the hub, a loop uses only the inbox and
// the Gatekeeper, and each has a lock of its own. While a tick publishes, all packets wait some
// milliseconds. At other times, only packets for the world wait.
package gateway
