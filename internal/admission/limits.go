package admission

import "time"

// Limits of the specification pages.
const (
	// defaultHalfOpen and maxHalfOpenBytes bound what handshakes from unproven addresses can
	// cost: a flood of forged sources gets 4,096 places of at most 1 KiB each, 4 MiB.
	defaultHalfOpen  = 4096
	maxHalfOpenBytes = 1024

	// halfOpenLife is how long a handshake may take. Forged handshakes always take that
	// long.
	halfOpenLife = 5 * time.Second

	// crowdedHalfOpen is the number of handshakes from which forged sources are no longer
	// answered: "with more than 1,024 handshakes open, only the second init from an address
	// is answered". An attacker would have to send twice for each forged source.
	crowdedHalfOpen = 1024

	// sendFactor is how many bytes an unproven address gets for each byte that came from it.
	// More would make us useful for reflection attacks.
	sendFactor = 3

	// endedLife is how long the end of a connection is remembered, so that the next one from
	// its address has another clock and does not accept packets of the old one. It is also
	// the longest time that a datagram is assumed to stay in the network.
	endedLife = 30 * time.Second

	// ignoredLife is how long an address stays ignored.
	ignoredLife = 10 * time.Second

	// clockBits is the number of bits of the start of a connection's clock.
	clockBits = 62

	// ClockSlack is how far a peer's time may be from the connection's clock. A forger would have to guess 62 bits to
	// within this.
	ClockSlack = 10 * time.Second
)

// Limits of notices to strangers, replica: "at most 10 a second a source and 1,000 a second
// in all". A bucket lets at most Burst + Rate pass in a second, so each sum is the limit.
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
	// seenMax addresses in each, one new address in 20 is mistaken for a known one. At a
	// million new addresses a second each is full after 260 ms, which is just enough for a
	// client that asks again after 250 ms.
	seenBits   = 1 << 21
	seenHashes = 4
	seenMax    = 1 << 18

	// seenLife is how long Seen remembers an address at least, if it does not fill up. A
	// client that waits longer each time may take so long to ask again.
	seenLife = 4 * time.Second

	// defaultEnded and defaultIgnored bound Ended and Ignored. Only peers that have passed
	// the handshake can fill them.
	defaultEnded   = 4096
	defaultIgnored = 4096

	// bucketWays is how many places a bucket may be in. A source keeps its bucket as long as
	// one of the others there is nearer to full.
	bucketWays = 8

	// defaultSources and defaultPrefixes are how many buckets there are: 16 bytes each.
	defaultSources  = 8192
	defaultPrefixes = 4096

	// tokenLife is the length of an epoch of tokens. A token is accepted in its own epoch
	// and in the next.
	tokenLife = 30 * time.Second

	// maxAllowance stops an Allowance from overflowing. No unproven peer sends that much.
	maxAllowance = int64(1) << 62

	// prefixBits4 and prefixBits6 are the networks that one customer is commonly given. So a
	// customer counts as one source, however many addresses it uses.
	prefixBits4 = 24
	prefixBits6 = 56

	// hostBits6 is the size of the IPv6 network in which a single host may use any address, so limits for a host
	// count by it.
	hostBits6 = 64

	// porchHost, porchNetwork and porchTotal bound connections that are proven and have not entered: "At most 64 connections
	// of an address (/64 of IPv6) may be proven and not entered". Four networks that use their whole limit fill the porch. A
	// fifth still gets places, from the busiest of their hosts. A place costs the memory of a connection, over TLS at most
	// 64 KiB.
	porchHost    = 64
	porchNetwork = 512
	porchTotal   = 2048
)
