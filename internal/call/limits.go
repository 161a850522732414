package call

import "time"

const (
	// maxMessage bounds a message: "a message over 64 KiB or of text ends the session" (carriers).
	maxMessage = 64 << 10

	// maxDatagram bounds the datagrams of WebSocket, both ways, and maxDatagramWT those of WebTransport: QUIC promises 1,200 bytes of UDP
	// payload, and its own headers are among them.
	maxDatagram   = 1200
	maxDatagramWT = 1100

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

	// maxHeader bounds the header of an answer, maxWords what is shown of its body, and maxAbout what is read of /play/server.
	maxHeader = 16 << 10
	maxWords  = 200
	maxAbout  = 64 << 10

	// maxHashes bounds the certificates that a server may name: this one and the next are enough.
	maxHashes = 8
)
