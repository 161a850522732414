// Package player is a player of the game server, over any dialect: it walks, acts, speaks and
// knows what it sees. `parley join` and `parley bots` are made of it.
//
//	p, err := player.Join(ctx, "duplex", "127.0.0.1:7004", player.Config{Schema: schema})
//	p.Steer(angle, norm)
//	p.See(func(v *player.Sight) { … })
//
// What a dialect cannot do is an error that says so: stamp's clients watch, and relay knows no
// terrain. The table of what each dialect means to the world is in docs/gateway.md; this is its
// other end, one file a dialect; land.go has the terrain, bot.go and crowd.go players that play by themselves.
package player
