// Package bots has players that play by themselves, over any dialect: they walk, act and speak, and measure the server.
// `parley bots` uses it.
//
//	crowd := bots.Crowd{Addrs: addrs, Bots: map[string]int{"duplex": 10}, Config: bots.Config{Schema: schema}}
//	results := crowd.Run(ctx)
//
// A Player is what a bot plays with, and what tests visit servers with: it keeps what it was told last. It draws no frames and
// predicts nothing, as package client does, so a thousand of them fit into a process.
//
// docs/gateway.md has the table of each dialect's messages. ear.go listens to a connection, with one file for each dialect, and
// land.go has the terrain. bot.go and crowd.go have players that play by themselves. Package line has the connection.
package bots
