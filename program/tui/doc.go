// Package tui is the picture of a game in a terminal, and what its keys mean. It works for any game: bodies are signs by
// their kind, solid cells are walls, and fields such as name and health are shown where a kind has them.
//
// A Screen has no terminal, goroutine or clock: frames and keys go in, text and commands come out. Its owner has the terminal
// and the connection.
//
// # Usage
//
//	s := tui.New(schema)
//	s.Resize(80, 24)
//	s.See(tui.Scene{World: w, Own: id})
//	fmt.Print(s.Draw())
//	cmd := s.Key("up")
//
// # Files
//
//	screen.go   Screen: its size, and what is in it from above to below
//	camera.go   which part of the world is on the screen
//	draw.go     walls, bodies and names
//	keys.go     what keys mean
//	news.go     lines: what is said, and the hits and deaths that are seen
//	style.go    colours
//	limits.go   bounds
//
// # Security
//
// A server is not trusted. Its texts are made plain, the lines and the names are bounded in number and size, and values
// of entities are shown as they are and never used as sizes.
package tui
