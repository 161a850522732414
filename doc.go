// Package parley serves a game to players of five wire protocols at once.
//
// A game is plain structs and one Step function (see package world):
//
//	type Ship struct {
//		world.Body
//		Health int16
//	}
//
//	var game = parley.Game{
//		Name:  "ships",
//		Kinds: world.Kinds(Ship{}),
//		Step:  step, // func(w *world.World, in []world.Input)
//	}
//
//	func main() { log.Fatal(parley.Serve(context.Background(), game, parley.Config{})) }
//
// The wire protocols are called dialects: replica, stamp, relay, duplex and realm. Players of all dialects share one
// world: each sees what the others do, and reads what they say. Each dialect is also a library of its own, in protocol/.
//
// # Rooms
//
// A server has one world, the room main, and as many more as it is told to open (Server.Open). All play the same game, each with
// its own players. A room that nobody is in sleeps. One whose Step panics, or does not end, ends alone. With Config.Keep rooms
// are on disk, and a server that was stopped or killed goes on where it was.
//
// # Accounts
//
// Players of realm log in, so realm is off unless Config.Accounts is set. It takes one line and its import:
//
//	parley.Config{Accounts: sqlite.OpenIn} // from parley/account/sqlite: a file in Config.DataDir
//
// A game without this line compiles no database.
//
// # Life of a packet
//
//	internal/udp, internal/stream   a socket reads bytes, in batches
//	protocol/<dialect>              an endpoint parses them into packets
//	play/gateway                    a packet becomes an input: join, steer, act, speak
//	world                           Step runs a tick, with all its inputs
//	play/gateway                    each player's view becomes packets
//	protocol/<dialect>, sockets     the packets are sent, in batches
//
// # Files
//
// parley.go has Serve and the methods of a running Server, rooms.go those for rooms. config.go has Config. dialects.go starts
// each dialect's server. events.go has what leaves a room: events, views and results. stats.go has the counters, and what is wrong.
package parley
