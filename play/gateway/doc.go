// Package gateway is where dialects and the world meet: it turns packets into inputs and
// views into packets. One file a dialect, and one Hub for all: names, players, chat and
// actions cross dialects there.
//
// # The way of an input
//
//	a server's loop    the dialect's handler reads a packet into a request (replica.go, …)
//	inbox.go           it waits for the tick, bounded for each connection
//	hub.go             the tick takes all requests: who enters, steers, acts, says
//	gate.go            passes are judged when they come, and spent (spent.go) when their player enters
//	held.go            what is for a later tick waits for it
//	world              Step
//	chunks.go          who is sent terrain in this tick, and land.go makes it
//	crew.go            Publish of each dialect, at the same time on all cores, while all loops stand still
//	replica.go, …      the view of each player becomes packets, which the loops then send
//
// # Who owns what
//
// The hub's goroutine owns the world, all players and their views. A dialect's loop owns
// its connections. To publish, the hub visits all loops, which stand still meanwhile, and has
// its crew tell the players of each dialect: they read the world, and change what is the
// dialect's own. A loop touches nothing of the hub's but the inbox. So there is no lock but
// the inbox's; a packet waits for a tick while that publishes, some milliseconds, and else only
// if it is for the world.
package gateway
