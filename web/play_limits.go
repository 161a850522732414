package web

import "time"

// Limits of the players' part. It is for strangers, and it is on all addresses by default.
const (
	// playCalls is how many calls an address (/64 of IPv6) may make at once, and then in a minute: "by address at most 10 calls a
	// minute" (entry). playCallCost is one of them in tokens, of which a second brings one.
	playCalls    = 10
	playCallCost = 6

	// heardAtOnce and heardRate bound what an address is listened to at all: its requests, also those that are
	// refused. A refusal takes 16 µs and is eight times as long as the request, so that one connection, with requests one behind the
	// other, would keep a core busy. This is 10 ms at once, and 0.3 ms a second. A browser that opens the page has 6 connections and 20
	// requests, and thirty players behind one address may open it together.
	heardAtOnce = 800
	heardRate   = 20 // a second

	// metAtOnce and metRate bound the connections that an address begins: each may be a WebSocket, of which "64 handshakes a second an
	// address" are taken (carriers). One that asks for something else is heard as above.
	metAtOnce = 256
	metRate   = 64 // a second

	// hostsOfSite is how many addresses' calls and connections all addresses of a site get together, which is an IPv6 /56 (and of
	// calls also an IPv4 /24): a customer who has a /56 has 256 networks, each of which counts as an address.
	hostsOfSite = 16

	// maxPlayConns bounds connections, each a goroutine, a descriptor and some 26 KiB of heap and stack while it waits: 52 MiB.
	// Beyond it the one that has been quiet for longest is closed; if all are being answered, the new one is.
	maxPlayConns = 2048

	// maxPlayConnsOf bounds those of an address, so that one host cannot push out all others, and with hostsOfSite those of an IPv6
	// /56. It is more than playCalls, as a connection that waits for a match keeps its place.
	maxPlayConnsOf = 32

	// maxPlayWaits bounds calls of /play/match that wait, for half a minute each: the other half of the connections is for those
	// who ask for something that is answered at once.
	maxPlayWaits = maxPlayConns / 2

	// maxPlayBody bounds bodies: the largest sensible one has a name and a mode.
	maxPlayBody = 4 << 10

	// maxMode bounds a mode, in bytes, as rooms do.
	maxMode = 255

	// fileTime is how long a client may take for a file of the operator's own page: 30 MB at 2 Mbit/s. A slow one holds one of the connections of
	// its address meanwhile.
	fileTime = 2 * time.Minute

	// playIdle is how long a connection may be quiet.
	playIdle = 15 * time.Second

	// roomsFresh is for how long a list of rooms is shown again: to make one stops the game between two ticks for a moment, and
	// strangers decide how often.
	roomsFresh = time.Second

	// maxListed bounds the rooms of a list, and so its size: some 400 KiB.
	maxListed = 1000

	// maxRoomsOf is how many rooms of an address there may be at once: "at most 4 rooms an address" (entry).
	maxRoomsOf = 4
)
