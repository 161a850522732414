package admission

import "time"

// Limits of the specification pages.
const (
	// defaultHalfOpen and maxHalfOpenBytes bound what handshakes from unproven addresses can
	// cost: a flood of forged sources gets 4,096 places of at most 1 KiB each, 4 MiB.
	defaultHalfOpen  = 4096
	maxHalfOpenBytes = 1024

	// halfOpenLife is how long a handshake may take; forged ones take all of it.
	halfOpenLife = 5 * time.Second

	// crowdedHalfOpen is where forged sources stop being answered: "with more than 1,024
	// handshakes open, only the second init from an address is answered". A forger would
	// have to send twice for each source.
	crowdedHalfOpen = 1024

	// sendFactor is how many bytes an unproven address gets for each one that came from it.
	// More would make us worth reflecting off.
	sendFactor = 3

	// endedLife is how long the end of a connection is remembered, so that the next one from
	// its address has another clock and takes no packet of the old one for its own. It is
	// also the longest that a datagram is believed to live in the network.
	endedLife = 30 * time.Second

	// ignoredLife is how long an address stays ignored.
	ignoredLife = 10 * time.Second

	// clockBits is how wide the start of a connection's clock is.
	clockBits = 62
)

// Limits of notices to strangers, replica: "at most 10 a second a source and 1,000 a second
// in all". A bucket lets Burst + Rate pass in a second at most, so these sum up to that.
var (
	noticeSource = Limit{Rate: 8, Burst: 2}
	noticePrefix = Limit{Rate: 80, Burst: 20}
	noticeTotal  = Limit{Rate: 900, Burst: 100}
)

// Our limits.
const (
	// expirePerCall bounds the work of one call when thousands of entries run out at
	// the same time: about 5 µs of the 50 µs that a datagram may cost.
	expirePerCall = 64

	// seenBits, seenHashes and seenMax shape the two filters of Seen, 256 KiB each. With
	// seenMax addresses in each, one address in 20 is mistaken for a known one. At a
	// million new addresses a second they are full after 260 ms each, which is just enough
	// for a client that asks again after 250 ms.
	seenBits   = 1 << 21
	seenHashes = 4
	seenMax    = 1 << 18

	// seenLife is how long Seen remembers at least, if it does not fill up: as long as a
	// client that waits longer each time may take to ask again.
	seenLife = 4 * time.Second

	// defaultLedger and ledgerLife bound the books on unproven addresses. An address
	// that was silent for ledgerLife is forgotten, and gets a new grace when it comes back.
	defaultLedger = 4096
	ledgerLife    = 30 * time.Second

	// defaultEnded and defaultIgnored bound memories that only peers who got past the
	// handshake can fill.
	defaultEnded   = 4096
	defaultIgnored = 4096

	// bucketWays is how many buckets share a place of the table. A source keeps its bucket
	// as long as not all others of its place owe more.
	bucketWays = 8

	// defaultSources and defaultPrefixes are how many buckets there are: 16 bytes each.
	defaultSources  = 8192
	defaultPrefixes = 4096

	// tokenLife is how long a token is current; it is honoured for as long again.
	tokenLife = 30 * time.Second

	// maxAllowance stops an allowance from overflowing. No unproven peer sends that much.
	maxAllowance = int64(1) << 62

	// prefixBits4 and prefixBits6 are the networks that one customer is commonly given. So a
	// customer counts as one source, however many addresses it uses.
	prefixBits4 = 24
	prefixBits6 = 56

	// hostBits6 is the network in which a host has as many addresses as it likes, so limits for a host count by it.
	hostBits6 = 64

	// porchHost, porchNetwork and porchTotal bound connections that are proven and have not entered: "At most 64
	// connections of an address (/64 of IPv6) may be proven and not entered". Four networks that take all that they may fill
	// the porch, and the fifth still gets its places from the busiest of their hosts. A place costs its owner's connection,
	// over TLS at most 64 KiB.
	porchHost    = 64
	porchNetwork = 512
	porchTotal   = 2048
)
