// Package gateway is where dialects and the world meet: it turns packets into inputs and
// views into packets. One file a dialect, and one Hub for all: names, players, chat and
// actions cross dialects there.
//
// # The way of an input
//
//	a server's loop    the dialect's handler reads a packet into a request (replica.go, …)
//	inbox.go           it waits for the tick, bounded for each connection
//	hub.go             the tick takes all requests: who enters, steers, acts, says
//	world              Step
//	hub.go             Publish of each dialect, on its own loop while the hub waits
//	replica.go, …      the view of each player becomes packets
//
// # Who owns what
//
// The hub's goroutine owns the world, all players and their views. A dialect's loop owns
// its connections. While the hub publishes, it waits for the loop, which so may read the
// world; at all other times the loop touches nothing of the hub's but the inbox. So there
// is no lock but the inbox's, and no packet waits for a tick but those that are for the
// world.
package gateway
