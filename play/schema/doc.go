// Package schema is a game's schema in the terms of duplex and realm, whose servers and clients must be given the same one. It
// belongs to package parley/play/message, which has the messages of the other dialects and knows no dialect's package.
//
// # Usage
//
//	c, err := duplex.Dial(ctx, addr, duplex.Config{Schema: schema.Duplex(game)})
//
// # Files
//
//	duplex.go  how many bytes each message has
//	realm.go   attributes, actions, and their values
//
// # Limits
//
// A pass over duplex has at most 1,024 bytes. All other limits are those of the world and of the dialects.
//
// # What it does not do
//
// A client whose game differs from the server's gets no error here: it cannot read what it is sent.
package schema
