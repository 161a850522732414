package ws

import (
	"time"

	"parley/internal/carry"
)

const (
	// maxMessage bounds a client's message: "a message over 64 KiB … ends the session" (carriers). No memory is kept for one: what is too large
	// for a datagram is dropped as it comes.
	maxMessage = 64 << 10

	// readBytes is how much is read of a connection at once: of those that share a reader, one that floods gets no more than the others. With
	// a goroutine of its own, each has so much while it waits.
	readBytes = 2 << 10

	// roundConns is how many connections are looked at between two looks at the clock, and maxRounds how often that is done in a row before the
	// scheduler gets its P back.
	roundConns = 128
	maxRounds  = 64

	// lateEvery is how exactly the times below are kept for those that share a reader.
	lateEvery = 100 * time.Millisecond

	// writeBytes is from where on no more datagrams are put into a write, and writeRoom the memory that such a write needs. It is lent for the
	// time of the write.
	writeBytes = 16 << 10
	writeRoom  = writeBytes + carry.MaxDatagram + 128 + 2*(maxControl+4)

	// writeTime is how long a write may wait for the peer: "10 s without a byte taken ends it" (carriers).
	writeTime = 10 * time.Second

	// maxLinger bounds what is still read behind the end.
	maxLinger = 256 << 10

	// goodbyeTime is how long a last frame may take that says why a session ends at once.
	goodbyeTime = 200 * time.Millisecond
)
