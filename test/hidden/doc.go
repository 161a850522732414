// Package hidden holds a test: a card game on a whole server, whose players must not get a byte of what the rule of the game
// (Game.Sees) hides from them, in no dialect.
//
// game_test.go has the game and what each viewer may know, tap_test.go the wires, on which each byte is looked at, and
// hidden_test.go the evening at the table.
package hidden
