// Package client is a player of a game, over any dialect: the entities in sight are the game's own structs, and the game's own Step runs
// on this side too, so that the own entity moves the moment it is steered.
//
//	c, err := client.Dial(ctx, "replica://127.0.0.1:7000", game, client.Config{Name: "ann"})
//	defer c.Close()
//	for frame := range c.Frames(60) { // or c.At(time.Now()) in a loop of your own
//		me, ok := client.Own[Ship](frame)             // predicted
//		for id, s := range client.All[Ship](frame) {} // interpolated
//		for ev := range frame.Events() {}             // joined, left, acted, said, away, back
//	}
//	c.Steer(angle, norm)
//	client.Act(c, Fire{Angle: 1})
//	c.Say("hi")
//
// docs/client.md says more: what is drawn when, what Step has to bear with on a client, and what it costs.
//
// # What is drawn when
//
// Others are drawn a little in the past, between two ticks that have come: the delay adapts to the jitter of the network. The own
// entity is drawn ahead of the server. Each input says for which tick it is meant and goes out at once. When the server tells what has
// become of it, the client goes back to that and runs the newer inputs again. Small errors are blended away in 100 ms. What an action
// creates is there at once, and becomes the server's entity or goes. Over realm positions are whole cells, and stamp only watches.
//
// # Coming back
//
// A connection that is lost is dialed again, over the same address or the next one that answers, and the player goes on with its
// entity as long as the server holds its place. Frames go on meanwhile. The events Away and Back of the own player tell of it. What it
// does meanwhile is sent when it is back. What it did before, and the server had not confirmed, may have been lost with the connection:
// it is not sent again, as it would else be done twice.
//
// # Life of a frame
//
//	conn.go    events of the connection to the core (play/picture), which is under the lock
//	client.go  pulse: the core's own ticks; Frames and At: what is drawn, and the events since
//	kept.go    what the player did while it was away
//	config.go  addresses
//
// # Limits
//
// They are in limits.go: 32 actions and lines while away, 1,024 events between two frames. A server can make a client neither crash nor
// grow: entities, texts and terrain that it tells are bounded in play/picture.
//
// # What it does not do
//
// It draws nothing, plays no sound and reads no keys. It does not look for a server: see docs/play.md.
//
// # Security
//
// replica, relay, duplex and stamp are neither encrypted nor authenticated: see SECURITY.md. Over realm a password is sent to any server
// with a certificate, unless Config.Trust says otherwise.
package client
