// Package connector lets the unmodified clients of an existing open-source real-time strategy game,
// whose protocol relay is, play through a relay server: it has the game's messages, and the lobby
// "connector" that speaks them. docs/protocols/relay-connector.md has the bytes and what each message
// does to whom.
//
// # Usage
//
// A server is a main port, where clients open games, and a port for each game:
//
//	s, err := connector.Listen("", connector.Config{}) // all addresses, port 8082
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer s.Shutdown(ctx) // tells all players
//
// The lobby alone is a relay.Lobby, pure as its Mux: see NewLobby. The messages stand alone as well,
// for a client or a tool:
//
//	msgs := connector.Read(payload)
//	var m connector.FromGame
//	for msgs.Next(&m) {
//		…
//	}
//	if err := msgs.Err(); err != nil { … }
//
// # Life of a message
//
//	server.go        Listen: relay's server, with this lobby; Shutdown, Close, Stats
//	lobby.go         who is let in; Receive: a package at the main port or for a game
//	codec.go         Messages walks a payload, to its last byte, before anything has an effect
//	message_main.go  to and from the main port: structs under their layouts
//	message_game.go  to and from a game
//	message_peer.go  between players, without and with their sender's number
//	varint.go        the forms of a number
//	match.go         a game at its port: what players say to the server and to each other
//	game.go          its rules: seats, joining, leaving, readiness
//	group.go         messages of a player that wait to share a package
//	  … relay: Room.Relay to all others in one system call, resends, confirmations …
//	guest.go         what is kept of an address; those without a game
//	riddle.go        who is proven, and who has to be
//	meter.go         what a guest may ask for; a package beyond is not confirmed
//	memory.go        the ids of those who are known no more
//	config.go        what a user may set; limits.go: what not; limits_wire.go: what the layouts say
//
// # Cost
//
// Nothing on the way of a package through a game allocates (TestRelayingAllocatesNothing). A
// package of three messages to three others, with the confirmations of all, takes about 6 µs of the
// core (BenchmarkRelay, two shared cores). A game with its opener takes about 8 KiB beside its socket
// (TestGuestsAndGamesAreSmall).
//
// # Limits
//
// Those of the layouts are in limits_wire.go and are enforced while reading; ours are in Config and
// limits.go, each with the attack that it stops.
//
// # What it does not do
//
// It does not look into the game: what a player says of an entity passes, whoever's the entity is.
// It refuses what the game's clients cannot decode (Config.PassForeign), and floats that are not
// finite. A client must speak to the main port and to its game from one address, as the game's do,
// because a game knows its opener by it; a NAT that gives it another one for each destination keeps
// it from opening games, not from joining them. A player who was lost and comes back is told NotJoined;
// it joins again from another port, while the game is open.
//
// # Security
//
// No input makes it panic, loop or allocate without bound. The dialect has neither encryption nor
// signatures, and "there are no challenges". An address is proven by a riddle that the library of the
// game's clients answers without knowing: see riddle.go. Addresses that proved nothing hold at most a
// quarter of the games, of the seats and of the strangers, and riddles are asked only when that is used
// up, a game is full, or an address comes back that the server has forgotten but for its ids (TestForgedSourcesKeepNobodyOut,
// TestAForgedReturnBringsLittle). Until an address confirms something it is sent
// at most three bytes for each of its own plus 8 KiB. A forged Leave ends a player's part. Servers that
// are made to talk to each other, or to themselves, by a forged datagram fall silent
// (TestTwoServersDoNotTalkForever).
package connector
