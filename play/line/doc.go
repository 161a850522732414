// Package line is a player's way into a game over any dialect: it dials, shows a pass, and comes back when the connection is lost.
// It does not read what the game tells: its users do, package client and package bots.
//
//	l, err := line.Dial(ctx, line.Config{Ways: ways, Schema: schema, Read: func(c *line.Conn) line.Reader { … }})
//	err = l.Entered(ctx)
//	l.Now().Say("hello")
//
// # Coming back
//
// With Config.Resume, a player whose connection is lost comes back by itself, as the same player, over the same way or the next one
// that answers. Notices tell of it. Session returns the token, with which Config.Session goes on in another process.
//
// # Life of a connection
//
//	line.go    Dial: the first way that answers; Line: what outlives a connection
//	conn.go    Conn: one connection, and what the server says of the player's place
//	replica.go relay.go duplex.go realm.go stamp.go: the handshake of each dialect; its events go to the Reader
//	game.go    the server runs another game
//	end.go     which ends of a connection are worth coming back for
//	resume.go  when to come back, and with which pass
//	moved.go   the server is emptied: where to go on
package line
