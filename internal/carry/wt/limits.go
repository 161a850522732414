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

	// reorderTime is how long a stream waits for its session, and a session for its client's settings.
	reorderTime = 5 * time.Second

	// packetBytes is the size of QUIC's packets, the least that every path of QUIC takes. The largest datagram, way.Largest, fits
	// into one with QUIC's own headers.
	packetBytes = 1200

	// idleTime is how long a connection may be silent, and keepTime how often it is made to speak: a path that is gone is found by it.
	idleTime = 10 * time.Second
	keepTime = 3 * time.Second

	// streamWindow and connWindow bound what a client may send that was not read, of a stream and in all: less at first, and more when it is read
	// fast. quic-go's own would grow to 6 and 15 MiB. It keeps a frame of 128 bytes in a buffer of 1,452, so a hostile client makes the
	// server hold eleven times these. A player sends some hundred bytes a tick.
	firstStreamWindow, streamWindow = 4 << 10, 8 << 10
	firstConnWindow, connWindow     = 6 << 10, 12 << 10

	// maxStreams bounds the streams of each direction that a client may have open: HTTP/3 needs three, a session two.
	maxStreams = 8

	// maxHeader bounds a request's headers.
	maxHeader = 8 << 10

	// porchTotal and porchHost bound the connections without a session, in all and of an address, handshakes included. Each costs
	// up to 190 KB (docs/limits.md). A handshake that has lost its place to another goes on until its time is over: so many more as one in ghostShare of
	// porchTotal may do that, so that there are 4,096 in all.
	porchTotal = 3072
	porchHost  = 64
	ghostShare = 3

	// maxRequests bounds the requests of a connection: a client makes one, and each costs more than its frame.
	maxRequests = 16

	// graceTime is how long the last datagrams of a session have to go out before its end is told, and partTime how long the client then
	// has to close the connection.
	graceTime = 50 * time.Millisecond
	partTime  = 250 * time.Millisecond
)

// connRate, connNetwork and connTotal bound the connections that an address (/64 of IPv6), a network and all together begin in a second: a
// handshake costs half a millisecond, so that all addresses of the world get half a core.
var (
	connRate    = admission.Limit{Rate: 64, Burst: 256}
	connNetwork = admission.Limit{Rate: 512, Burst: 2048}
	connTotal   = admission.Limit{Rate: 1024, Burst: 4096}
)
