package wt

import (
	"time"

	"parley/internal/admission"
)

const (
	// ownDays and ownStep are how long an own certificate is valid, and how long it is in use: browsers take a certificate by its hash only
	// if that is at most 14 days. A page that was loaded up to ownStep ago knows the one in use, as the next one is told ahead.
	ownDays = 13 * 24 * time.Hour
	ownStep = 5 * 24 * time.Hour

	// ownEarly is how long before its use a certificate is valid: clocks of clients may be behind.
	ownEarly = 2 * 24 * time.Hour

	// shakeTime is Config.ShakeTime: a handshake that is never finished costs a place.
	shakeTime = 5 * time.Second

	// sessionTime is Config.SessionTime: a connection without a session costs a place.
	sessionTime = 10 * time.Second

	// packetBytes is the size of QUIC's packets from the first on, so that a datagram of carry.MaxDatagram fits into one with QUIC's own headers.
	// A path that takes less does not get through the handshake, and its player comes over WebSocket.
	packetBytes = 1280

	// idleTime is how long a connection may be silent, and keepTime how often it is made to speak: a path that is gone is found by it.
	idleTime = 30 * time.Second
	keepTime = 10 * time.Second

	// streamWindow and connWindow bound what a client may send that was not read, of a stream and in all. quic-go's own would grow to 6 and 15 MiB.
	streamWindow = 32 << 10
	connWindow   = 64 << 10

	// maxStreams bounds the streams of each direction that a client may have open: HTTP/3 needs three, a session two.
	maxStreams = 8

	// maxHeader bounds a request's headers.
	maxHeader = 8 << 10

	// porchTotal and porchHost bound the connections without a session, in all and of an address, handshakes included. Each costs
	// some 50 KiB.
	porchTotal = 4096
	porchHost  = 64
)

// connRate bounds the connections that an address (/64 of IPv6) and a network begin in a second: a handshake costs half a millisecond.
var (
	connRate    = admission.Limit{Rate: 64, Burst: 256}
	connNetwork = admission.Limit{Rate: 512, Burst: 2048}
)
