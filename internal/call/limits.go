package call

import "time"

const (
	// maxMessage bounds a message: "a message over 64 KiB or of text ends the session" (carriers).
	maxMessage = 64 << 10

	// maxDatagram bounds the datagrams, both ways: as over UDP. Over WebTransport they have less: see way.Largest. packetBytes is the size
	// of QUIC's packets, the least that every path of QUIC takes.
	maxDatagram = 1200
	packetBytes = 1200

	// quietTime is how long nothing may come over WebTransport, and keepTime how often the client makes the server speak: a server that is
	// gone without a word is noticed as soon as over UDP.
	quietTime = 10 * time.Second
	keepTime  = 3 * time.Second

	// maxWaiting bounds the memory of the datagrams that wait in each direction: a server that does not read, or floods a client that is
	// busy, costs the client no more.
	maxWaiting = 256 << 10

	// turnDatagrams bounds the datagrams of one turn.
	turnDatagrams = 32

	// pieceBytes is how many bytes of a stream wait to be taken.
	pieceBytes = 16 << 10

	// closeTime bounds how long Close waits for what is still to be sent, and for the server's answer to the goodbye.
	closeTime = 500 * time.Millisecond

	// graceTime is how long a connection of WebTransport outlives its session, so that the goodbye goes out.
	graceTime = 50 * time.Millisecond

	// handshakeTime bounds a handshake when the context does not: a server that accepts and says nothing.
	handshakeTime = 10 * time.Second

	// retryTime is Target.Patience: how long a server that is busy is asked again, with pauses from firstPause to longestPause: a hundred players behind one
	// address who come at once are let in within a second. It is less than a player's patience, who is told why then.
	retryTime    = 3 * time.Second
	firstPause   = 100 * time.Millisecond
	longestPause = 800 * time.Millisecond

	// maxHeader bounds the header of an answer, maxWords what is shown of its body, and maxAbout what is read of /play/server.
	maxHeader = 16 << 10
	maxWords  = 200
	maxAbout  = 1 << 20 // it has the game's schema

	// maxHashes bounds the certificates that a server may name: this one and the next are enough.
	maxHashes = 8
)
