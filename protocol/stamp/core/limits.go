package core

import "time"

// Our own limits. Those that a user may change are in Config, with these as
// their defaults; what the document says is in limits_wire.go.
const (
	// initRepeat and maxInitRepeat pace a client's init and its ack of the accept:
	// often enough that a lossy path lets several through before the client gives
	// up, and growing, so that a server that is down is not flooded by its clients.
	initRepeat    = 250 * time.Millisecond
	maxInitRepeat = time.Second

	// maxRestarts bounds how often a client begins its handshake anew because the
	// server knew nothing of it: without, a server that forgets at once (or
	// somebody who plays one) could keep a client going round for ever.
	maxRestarts = 5

	// firstWithin is for how long a client with an accept takes no entity packet but the first,
	// which our servers repeat until it is acknowledged. Without, a client that
	// crashed and came back at the same port, and got an accept that was still under way to its
	// former self, would walk into the middle of that one's connection; so it keeps still until
	// the server has given that connection up. A foreign server whose first one is
	// unreliable and lost has its client wait for this long.
	firstWithin = 5 * time.Second

	// replacedAfter is how long a connection may stay silent after a new init
	// from its address: only who receives our entity packet can keep it alive, so
	// a forged init ends nothing. Where two round trips take longer, it is those.
	replacedAfter = 2 * time.Second

	// forgedAfter is the same for a disconnect that a client seems to have sent.
	forgedAfter = time.Second

	// closeSends bounds how often a disconnect is sent.
	closeSends = 5

	// obeyedWithin is how near a disconnect must be to the newest sequence that
	// a client got: with the time, one more thing that a forger must guess.
	obeyedWithin = 1024

	// maxMalformed in malformedSpan ends a connection: a peer that sends garbage
	// costs parsing, and is not one of ours. Only what carries a time of this
	// connection's clock counts, as the source of all else may be forged: without
	// that, 65 bytes from anyone would end anyone's connection.
	maxMalformed  = 64
	malformedSpan = 10 * time.Second

	// maxRejectReason keeps a rejection within three times the 13 bytes of the
	// init that it answers.
	maxRejectReason = 25

	// reliableEvery makes every so many numbers a reliable packet, so that the
	// span of numbers always moves on: "at least one of any 2,048 consecutive
	// numbers is a reliable packet". Half of that leaves time for resends before a
	// fast flow of unreliable ones has to wait.
	reliableEvery = 1024

	// hushBytes is what a client may be sent by SendReport that has confirmed nothing of it, a packet counting
	// packetCost beside its bytes; hushMore comes to it by halves, a half of what is left each second. So a client
	// that is silent is sent less and less, and then nothing: handshakes of clients that do not listen brought 127 KB each.
	// It is more than a new connection may have in flight, so one that confirms never comes to it.
	hushBytes  = 20 << 10
	hushMore   = 4 << 10
	packetCost = 144

	// hushAfter is how long a client may be silent before it is sent no unreliable packets: three times as long as
	// it is between two empty packets that it has to confirm.
	hushAfter = 3 * time.Second

	// maxLooseBytes bounds the unreliable packets that wait for the socket.
	// The oldest goes first: a newer one is worth more.
	maxLooseBytes = 64 << 10

	// maxOrderedBytes bounds the ordered packets that wait for their turn; Send
	// then returns ErrWindowFull. As one is in flight at a time, a peer that is slow
	// to ack would otherwise make a game that keeps sending grow without end.
	maxOrderedBytes = 256 << 10

	// maxControl bounds the acks and disconnects that wait for the socket. Each
	// answers something that is repeated, so what is dropped is asked for again;
	// without it a peer that repeats itself could fill memory while the socket
	// is stuck.
	maxControl = 16

	// maxTold bounds what is kept to be told of single packets: reports under way
	// and skipped packets. Past it SendReport returns ErrWindowFull, and a skip is
	// counted only: a server that provokes skips costs a client 96 KiB.
	maxTold = 4096
)

// laneEntity is the one order there is.
const laneEntity = 1
