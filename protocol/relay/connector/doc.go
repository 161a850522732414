// Package connector holds the messages of an existing open-source game that speaks the relay
// dialect: what its clients say to a server's main port and to a game, what these answer, and
// what players say to each other.
//
//	msgs := connector.Read(payload)
//	var m connector.ToGame
//	for msgs.Next(&m) {
//		…
//	}
//	if err := msgs.Err(); err != nil { … }
//
// # Life of a message
//
//	message_main.go  to and from the main port: structs under their layouts
//	message_game.go  to and from a game
//	message_peer.go  between players, without and with their sender's number
//	codec.go         Messages walks a payload; Check asks whether all of it is messages
//	varint.go        the forms of a number
//	limits_wire.go   what the layouts allow
package connector
