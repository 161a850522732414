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
// Players reach it over replica, stamp, relay, duplex and realm, and share one world: what
// one does the others see, and what one says they read. Each dialect is also a library of its
// own, in protocol/.
//
// # Accounts
//
// Players of realm log in, so realm is off until Config.Accounts opens a store of accounts. One line and its import do that:
//
//	parley.Config{Accounts: sqlite.OpenIn} // of parley/account/sqlite: a file in Config.DataDir
//
// A game that leaves it out compiles no database.
//
// # The way of a packet
//
//	internal/udp, internal/stream   a socket brings bytes, in batches
//	protocol/<dialect>              an endpoint knows packets
//	play/gateway                a packet is an input: enter, steer, act, say
//	world                           Step makes a tick of all inputs
//	play/gateway                a view of each player becomes packets
//	protocol/<dialect>, sockets     and goes out, in batches
//
// # Files
//
// parley.go has Serve and what can be done to a running Server, config.go how it is set up,
// dialects.go how each dialect begins to listen.
package parley
