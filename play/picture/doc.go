// Package picture is the pure core of a client: what the server tells of the world goes in, and what is to be drawn at a moment comes out. It has no
// socket, goroutine or clock. Package client is made of it.
//
// # Usage
//
//	c, err := picture.New(game, picture.Config{Name: "ann"})
//	c.Connected(now)
//	r := picture.NewRelay(c, send)      // what to send goes out by send
//	r.Read(now, ev)                     // for each event of the connection
//	c.Steer(now, angle, norm)           // what the player does
//	f := c.Frame(now)                   // at each redrawing
//	for id, p := range world.All[Player](f.World()) { … }
//	c.HandleTimeout(now)                // when c.NextTimeout is due
//
// # Others
//
// Others are drawn as they were some ticks ago, between two samples that have come (track.go, frame.go). How long ago is up to a Clock
// (clock.go): it goes on evenly, and never back.
//
// # The own entity
//
// Inputs are meant for a tick that the server has yet to run, and say so in a stamp (input.go). Which one is up to a Lead (lead.go). They run
// through the game's own Step on a world.Guess at once. When the server tells what a tick was, the Guess goes back to it and runs
// the ticks since then again, with the inputs that the server did not have yet (own.go). Errors are blended away (blend.go). What
// an own action creates is there at once, and becomes the server's entity when that comes (born.go).
//
// # Files
//
//	core.go     Core: what is known, and of which connection
//	track.go    entities of the server, and samples of them
//	frame.go    Frame: what is to be drawn
//	input.go    Steer and Act: what the player does, and how often it is sent
//	own.go      prediction
//	born.go     what own actions create
//	clock.go    at which tick others are drawn
//	lead.go     at which tick the own entity is
//	spread.go   what both have measured in the last seconds
//	blend.go    errors that fade
//	event.go    what happens besides
//	stats.go    what was measured
//	limits.go   what a server can make a client keep
//	replica.go relay.go duplex.go realm.go stamp.go  a reader for each dialect
//
// # Security
//
// All that a server sends is taken for hostile: each list has a bound in limits.go, and what cannot be read is left out. A panic of Step on
// what a server has told turns prediction off, and is told as an event.
package picture
