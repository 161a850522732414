// Package connector lets the unmodified clients of an existing open-source real-time strategy game, which uses the relay dialect,
// play through a relay server. It has the game's messages, and the lobby "connector" that handles them.
// docs/protocols/relay-connector.md has the bytes and the effect of each message.
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
// The lobby alone is a core.Lobby of package relay/core, and needs no socket: see NewLobby. The messages can be used alone as
// well, for a client or a tool:
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
//	lobby.go         admission; Receive: a package at the main port or for a game
//	codec.go         Messages walks a payload, to its last byte, before anything has an effect
//	message_main.go  to and from the main port: structs under their layouts
//	message_game.go  to and from a game
//	message_peer.go  between players, without and with their sender's number
//	varint.go        the forms of a number
//	match.go         a game at its port: messages of players to the server and to each other
//	game.go          its rules: seats, joining, leaving, readiness
//	group.go         messages of a player that wait to share a package
//	  … relay: Room.Relay to all others in one system call, resends, confirmations …
//	guest.go         what is stored for an address; addresses without a game
//	riddle.go        which addresses are proven, and which have to be
//	meter.go         rate limits of a guest; a package beyond them is not confirmed
//	memory.go        the ids of former peers
//	config.go        what a user may set; limits.go: fixed limits; limits_wire.go: those of the layouts
//
// # Cost
//
// Nothing on the path of a package through a game allocates (TestRelayingAllocatesNothing). BenchmarkRelay measures the core.
// A game with its opener takes about 8 KiB besides its socket (TestGuestsAndGamesAreSmall).
//
// # Limits
//
// Limits of the layouts are in limits_wire.go and are enforced while parsing. Ours are in Config and limits.go, each with the
// attack that it stops.
//
// # What it does not do
//
// It does not know the game's rules: a player's message about an entity passes, whoever owns the entity. It refuses messages that
// the game's clients cannot decode (Config.PassForeign), and floats that are not finite. A client must use one address for the
// main port and its game, as the game's own clients do, because a game recognises its opener by the address. Behind a NAT that
// gives another address for each destination, a client cannot open games, but can join them. A player who was lost and comes back
// is told NotJoined. It can join again from another port while the game is open.
//
// # Security
//
// No input makes it panic, loop or allocate without bound. The dialect has neither encryption nor signatures, and the game's
// clients answer no challenges. An address is proven by a riddle, which the library of the game's clients answers without knowing
// it: see riddle.go. Unproven addresses hold at most a quarter of the games and of the seats, and a sixteenth of the places for
// strangers. Riddles are asked only when these are used up, when a game is full, or when an address comes back of which the
// server has kept only the ids (TestForgedSourcesKeepNobodyOut, TestAForgedReturnBringsLittle). Until an address confirms
// something, it is sent at most three bytes for each of its own plus 8 KiB. A forged Leave removes a player from its game.
// Servers that a forged datagram makes talk to each other, or to themselves, fall silent (TestTwoServersDoNotTalkForever).
package connector
