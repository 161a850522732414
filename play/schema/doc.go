// Package schema translates a game's schema for replica, duplex and realm, and describes it. A server and its clients must be
// given the same schema. The package is separate from parley/play/message because that package imports no dialect.
//
// # Usage
//
//	c, err := duplex.Dial(ctx, addr, duplex.Config{Schema: schema.Duplex(game)})
//
// # Files
//
//	replica.go   the variables of the link table
//	duplex.go    how many bytes each message has
//	realm.go     attributes, actions, and their values
//	describe.go  all numbers of a game, for programs
//	text.go      the same for people
//
// # Limits
//
// A pass over duplex has at most 1,024 bytes. All other limits are those of the world and of the dialects.
//
// # What it does not do
//
// A client whose game differs from the server's gets no error from this package. It then cannot read what it is sent.
package schema
