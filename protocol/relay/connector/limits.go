package connector

import "time"

// What the relay page says of this lobby.
const (
	// announceAfter: "the opener joins as player 0 100 ms later, so that it knows the game's
	// port when Joined comes from it".
	announceAfter = 100 * time.Millisecond

	// unreliableGroup and reliableGroup are for how long messages of a player wait for more
	// to share their package: "at most 10 ms when unreliable and 50 ms when reliable".
	unreliableGroup = 10 * time.Millisecond
	reliableGroup   = 50 * time.Millisecond

	// resendAfter: "after 220 ms while no round trip is known, and with the `connector` lobby
	// always".
	resendAfter = 220 * time.Millisecond

	// keepAlive and timeout: "keep-alives only after 20 s (gone after 60 s), as these clients
	// expect quiet".
	keepAlive = 20 * time.Second
	timeout   = 60 * time.Second

	// maxBad in badSpan removes a peer: "64 in 10 s from a participant removes it". Here it is
	// payloads that are no messages; relay counts what is no datagram.
	maxBad  = 64
	badSpan = 10 * time.Second
)

// Our own limits. Those that a user may change are in Config.
const (
	// holeTimeout is how long a reliable package of a client may be missing: for ever, as the
	// page has clients of this lobby go by silence and unconfirmed packages only, and some start
	// their ids anywhere. What waits behind a hole is bounded by relay.
	holeTimeout = 100 * 365 * 24 * time.Hour

	// maxAsked messages to the server have their effect at once, and one more each askEvery.
	// Beyond, they are dropped and counted: without, one package of 504 joins and leaves would
	// have the server send thousands. It also ends loops: the Pong of one server is the Ping of
	// another, byte for byte, so a single forged datagram could have two servers, or one and
	// itself, answer each other for ever. No client of the game asks more than a few times.
	maxAsked = 32
	askEvery = time.Second

	// strangerIdle and playerIdle are for how long a guest is known that says nothing and only
	// confirms our keep-alives. Another server would do that for ever, and so would we: one
	// forged datagram could have the two keep each other alive, one as a player in a game of the
	// other. A client that waits for its friends says something within the hour.
	strangerIdle = 2 * time.Minute
	playerIdle   = time.Hour

	// sweepEvery is how often idle guests are looked for.
	sweepEvery = 30 * time.Second

	// maxLost is how many players that were lost a game remembers, to tell them if they come
	// back.
	maxLost = 64

	// closeWithin is for how long a game that is over waits for its last messages to be confirmed
	// before its port closes: as long as relay takes to give a package up, and some. A
	// client that is gone must not hold a port for longer.
	closeWithin = 10 * time.Second
)
