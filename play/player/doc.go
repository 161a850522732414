// Package player is a client of the game server, over any dialect: it walks, acts, speaks and tracks what it
// sees. `parley join` and `parley bots` use it.
//
//	p, err := player.Join(ctx, "duplex", "127.0.0.1:7004", player.Config{Schema: schema})
//	p.Steer(angle, norm)
//	p.See(func(v *player.Sight) { … })
//
// If a dialect cannot do something, the error says so: stamp's clients only watch, and relay has no terrain.
// docs/gateway.md has the table of each dialect's messages. This package is the client's side of it, with
// one file for each dialect. land.go has the terrain. bot.go and crowd.go have players that play by
// themselves.
//
// # Coming back
//
// With Config.Resume, a player whose connection is lost comes back by itself, as the same player:
//
//	c.Resume = player.Resume{On: true, Ways: []player.Way{{"relay", relayAddr}, {"duplex", duplexAddr}}}
//
// Notices of the kinds Away and Back tell of it, and ErrAway is the error of whatever the player does meanwhile. Session returns
// the token, with which Config.Session goes on in another process. end.go says which ends of a connection are worth coming back
// for, resume.go when and with which pass, line.go has one connection.
package player
