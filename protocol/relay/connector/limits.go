package connector

import "time"

// What the relay page says of this lobby.
const (
	// announceAfter: "the opener joins as player 0 100 ms later, so that it knows the game's
	// port when Joined comes from it".
	announceAfter = 100 * time.Millisecond

	// unreliableGroup and reliableGroup are how long after a package to a player the next one in its mode goes out, and so for how
	// long a message waits at most: "at most 10 ms when unreliable and 50 ms when reliable". With 20 ms there are no more
	// datagrams than with 50 ms after the first message of each sender, and less latency (TestOriginLatency).
	unreliableGroup = 10 * time.Millisecond
	reliableGroup   = 20 * time.Millisecond

	// confirmAfter is for how long confirmations are gathered. The game's own server gathers for 100 ms; a client resends after
	// 220 ms, so that a round trip of 140 ms causes no resend.
	confirmAfter = 80 * time.Millisecond

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

	// rememberFor is how long the ids of a guest that is known no more are kept: as long as the library of the game's clients keeps
	// its own. maxPast bounds how many, about 150 bytes each; a quarter of that is for those that proved nothing.
	rememberFor = 600 * time.Second
	maxPast     = 4096

	// maxUnsure is how many ids that were not confirmed are sent again, empty, when a conversation goes on.
	maxUnsure = 128

	// resendSpan is for how long the library of the game's clients resends a package: 220 ms, five times doubled, and up to
	// half more.
	resendSpan = 15 * time.Second

	// riddleSpan is from how many ids the three of a riddle are: within 1,024 of the next one, with room for 256 that are under
	// way. A guess is right once in 75 million times.
	riddleSpan = 768

	// askAgain is how soon a guest is asked to prove itself again, and proveWithin after how long one that does not makes room
	// for one that did.
	askAgain    = 200 * time.Millisecond
	proveWithin = 2 * time.Second

	// unprovenBytes is how much of the packages of a guest that proved nothing waits behind a missing one, and unprovenPackages how
	// many to it wait to be confirmed. Before half of that it is asked to prove itself.
	unprovenBytes    = 1 << 10
	unprovenPackages = 128

	// behindPackages is how many packages a player has not confirmed when it is behind (half of unprovenPackages if it proved nothing), of 1,024 or 128 KiB that may be on their way and 128 KiB
	// that wait, and aheadBytes how much of a sender's packages waits for a missing one: both together are less than that. Past either a package to the
	// others is not confirmed, but for ownShare: one player could else remove another by sending more than it can take.
	behindPackages = 256
	aheadBytes     = 32 << 10

	// gameRate is how many packages a second are passed on in a game, counted for each receiver: see relay.Rules.RoomRate.
	gameRate = 20_000

	// closeWithin is for how long the port of a game that is over stays: as long as a client resends its Leave, if the
	// confirmation of that was lost, and as long as relay takes to give a package up. Such a port makes room for another game.
	closeWithin = 10 * time.Second

	// dismissWithin is the same when the server closes: a player is told three times within that.
	dismissWithin = time.Second
)

// ownShare is what a player may send to others who are behind: ten packages a second.
var ownShare = allowance{16, 100 * time.Millisecond}

// allowances is how much of each thing a guest may ask for at once, and how often once more. Beyond, packages are not taken,
// so not confirmed either: without, one package of 504 joins and leaves would have the server send thousands. The
// client of the game pings 1.1 times a second; joins, leaves and each step of readiness are once a game.
//
// It also ends loops: the Pong of one server is the Ping of another, byte for byte, and its Joined a Leave and a Join, so a
// single forged datagram could have two servers, or one and itself, answer each other for ever. Joins, leaves and steps come back more
// slowly than a package is given up (6 tries in 10 s), which ends such a conversation; and who pings more than any client does is
// answered unreliably, so that the first one beyond ends it.
var allowances = [asks]allowance{
	askPing:  {32, 500 * time.Millisecond},
	askOpen:  {8, 15 * time.Second},
	askJoin:  {8, 15 * time.Second},
	askLeave: {8, 15 * time.Second},
	askReady: {16, 15 * time.Second},
}
