// Package message has the content of the dialects' packets when they carry a world: how a client steers, acts and speaks,
// and how a server tells of entities, actions, chat and terrain. docs/gateway.md has the same as tables. Servers
// (play/gateway) and clients (play/line, play/bots, play/picture) both use it, so each message is written and read in one place.
//
// # Usage
//
// A client of relay steers its entity, and reads an answer:
//
//	payload := message.AppendSteer([]byte{message.RelaySteer}, angle, norm, message.Big)
//	...
//	for rec := range message.Records(payload[1:], message.Big) {
//		fmt.Println(rec.Entity, rec.Kind)
//	}
//
// # Files
//
//	message.go  the messages that several dialects share
//	replica.go  names, and messages of replica alone
//	relay.go    first bytes, and messages of relay alone
//	duplex.go   codes, and messages of duplex alone
//	record.go   entities in stamp and relay
//	chunk.go    terrain
//	pass.go     what a client shows to get in
//	entered.go  what a client is told when it has entered: its session, and the world
//	stamp.go    inputs that know their tick, and what became of them
//
// Realm has messages of its own for all of this: package parley/play/schema translates the values.
//
// An Append function appends to b and returns the result. A Parse function returns false if b is not exactly one message. It
// allocates nothing but the texts among parameters and fields. Bytes that it returns share the memory of b.
//
// # What it does not do
//
// It does not judge values: an angle may be NaN, a line of chat may be too long or not UTF-8, and an entity may not exist. The
// world and the gateways decide that.
package message
