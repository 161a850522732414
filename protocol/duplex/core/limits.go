package core

import (
	"time"

	"parley/internal/admission"
)

// Our own limits. Those that a user may change are in Config, with these as their
// defaults; what the document and its page say of bytes is in limits_wire.go.
const (
	// initRepeat and maxInitRepeat pace a client's FEED_INIT while it has no feed, each
	// half as long again as the last: nine within the 5 s that it tries, so that a path
	// that loses half of all lets one through, and few to a server that is down.
	initRepeat    = 100 * time.Millisecond
	maxInitRepeat = time.Second

	// keepAlive is how often a client with a feed repeats its FEED_INIT: "every 3 s
	// as a keep-alive", so that a NAT remembers and both know that it works.
	keepAlive = 3 * time.Second

	// maxWrongTokens is how many wrong tokens a source may send before it is not
	// listened to for 10 s: "three wrong tokens for a player in 10 s stop answers to that
	// source for 10 s". The source is
	// address and port: else three forged datagrams would keep out an honest player who has
	// the same address.
	maxWrongTokens = 3
	silence        = 10 * time.Second

	// maxGuessers is how many sources are counted: all ports of one address. As a feed must
	// come from the address of its main, that is all that a guesser has, and 20,000
	// guesses a second are all that it gets: 60 hours for one token, if it can send from the
	// player's own address. The table is made when the first wrong token comes.
	maxGuessers = 1 << 16

	// maxWaryAhead is how far ahead a SEQ may be, beside that of a FEED_INIT, for 10 s on a
	// feed that was another player's a moment ago. A datagram of that player may still be
	// under way, and nothing in it says whose it is. Its high SEQ would make all later
	// datagrams late. Clients of a busy NAT get such feeds. A client that connects again
	// with its old socket always does.
	maxWaryAhead = 64

	// minSyncEvery is how often a client may ask for everything: SYNC_REQ is one byte,
	// and its answer is the whole state. A request that comes earlier is
	// answered then.
	minSyncEvery = time.Second

	// fillBytes is how much of a sync, and of updates that have no feed, is put into the
	// queue of main ahead of the socket. The rest is made when that has gone, from the
	// values as they are then: a slow reader gets fewer values, not older ones.
	fillBytes = 64 << 10

	// maxSizeSteps bounds how often a Growing function is asked about one message: a
	// peer that sends strings of one byte each makes it look at its data once
	// for each of them.
	maxSizeSteps = 1024

	// minHeldBytes is the least that is taken for the beginning of a message.
	minHeldBytes = 64

	// maxInboxEvents and maxInboxBytes bound what came and was not polled. While they
	// are reached main is not read on, which slows down who sends, and datagrams are
	// dropped and counted. The last message may go past the bytes.
	maxInboxEvents = 64
	maxInboxBytes  = 64 << 10

	// maxLooseBytes bounds the datagrams that wait for the socket. The oldest goes
	// first: a newer one is worth more.
	maxLooseBytes = 64 << 10

	// mostBeside bounds the count of a feed's bytes between two calls of Conn.Pace, which a program need not call.
	mostBeside = 1 << 24

	// maxQuestions bounds the queries that wait for their replies, each way. Past it
	// Query returns ErrBusy, and main is not read on until the game has answered:
	// a peer that only asks holds 256 places and no more.
	maxQuestions = 256

	// maxAnswerBytes bounds replies that wait for one before them: queries of one code
	// are answered in order. Past it main is not read on.
	maxAnswerBytes = 256 << 10

	// askRepeat and maxAskRepeat pace a query on the feed until its reply comes.
	askRepeat    = 200 * time.Millisecond
	maxAskRepeat = time.Second

	// quiet is for how long no query of a code is sent on the feed after one whose
	// reply may come twice: "sends no other of that code for 1 s and drops
	// replies to it, as it could not tell them apart".
	quiet = time.Second

	// maxRefusedPasses is how many passes of one main may be refused: "the third refusal
	// […] closes".
	maxRefusedPasses = 3

	// maxPasses is how many passes one main may show at all. A client needs one. Without a bound, somebody with a good
	// pass could have it judged again and again until the join timeout.
	maxPasses = 8
)

// connectRate and networkRate are how many mains of an address, and of a /24 or /56 network, get an answer to their
// CONN_INIT in a second, and at once after a silence; further ones are told REFUSED. The attack: a player's number rests
// for a minute after it has left, so that a client that joins and leaves as fast as it can would use up all 32,767. An
// address gets an eighth of them, and as many at once as it may have players.
var (
	connectRate = admission.Limit{Rate: 64, Burst: 256}
	networkRate = admission.Limit{Rate: 256, Burst: 1024}
)
