package carry

import (
	"time"

	"parley/internal/admission"
)

// Limits, and what each stops.
const (
	// MaxDatagram bounds the datagrams of sessions, both ways: as over UDP. Over WebTransport the cores and this package keep to less:
	// see way.Largest.
	MaxDatagram = 1200

	// maxWaiting bounds the bytes that wait for a session to take them: "when more than 256 KiB wait for a session, whole datagrams are
	// dropped, oldest first" (carriers). A peer that does not read costs no more than that.
	maxWaiting = 256 << 10

	// maxCome bounds the bytes of a session that wait for the core. They wait only while the loop is busy. A peer that floods fills its
	// own queue and nobody's else.
	maxCome = 64 << 10

	// stuckTime is how long a session may wait for its peer to take a byte: "10 s without a byte taken ends it" (carriers).
	stuckTime = 10 * time.Second

	// silentTime is how long a session may be without a connection of its dialect: "a session that has sent no valid packet of its dialect
	// in 10 s is closed" (carriers). A core gives a connection that it has met 10 s to enter, so a session that sends begins of handshakes
	// for ever ends as well.
	silentTime = 10 * time.Second

	// leaveTime is how long a session may take to send its last datagrams, and the carrier to close, after its connection has ended.
	leaveTime = 2 * time.Second

	// closeTime is how long a server that closes waits for all of that.
	closeTime = time.Second

	// sweepEvery is how exactly these times are kept.
	sweepEvery = 500 * time.Millisecond

	// turnShare bounds the datagrams that one session gives to a turn, and turnBatch those of all: one that floods gets no more than the
	// others, and the core's timers come after that at the latest.
	turnShare = 8
	turnBatch = 64

	// maxRate bounds the messages that a session may send in a second, and maxBurst those at once, after silence or in a network that held
	// them back. A player sends a few hundred. Messages of one byte would cost the server more than their sender: one that sends more is closed.
	maxRate  = 15_000
	maxBurst = 30_000

	// keptRoom is the room that an empty queue keeps for what comes next.
	keptRoom = 4 << 10

	// pieceBytes is how many bytes a stream may deliver in a turn.
	pieceBytes = 4 << 10

	// maxStreamTurn bounds the streams of one turn.
	maxStreamTurn = 64

	// defaultMost bounds the sessions of a server, where its configuration does not, and defaultOfHost those of an address. Those that have not
	// entered are bounded by the dialects' own rules, as for UDP and TCP.
	defaultMost   = 16384
	defaultOfHost = 320
)

// openRate bounds the sessions that a host (in IPv6 a /64) and a network (a /24 or /56) begin in a second: "64 handshakes a second an
// address" (carriers).
var (
	openRate    = admission.Limit{Rate: 64, Burst: 256}
	openNetwork = admission.Limit{Rate: 512, Burst: 2048}
)
