package account

import "time"

// Limits of realm's specification. Config can change those whose names begin with default.
const (
	// minNameRunes and maxNameRunes bound a name after normalising.
	minNameRunes = 3
	maxNameRunes = 32

	// minPasswordBytes and maxPasswordBytes bound a password that is set. The upper one
	// is checked before anything is hashed, also at a log-in, so that no one makes us
	// digest a megabyte.
	minPasswordBytes = 8
	maxPasswordBytes = 128

	// defaultFailures is how many failed log-ins a minute a name and an address may
	// have: "more than 5 failures a minute for a name or an address". Without it
	// passwords could be guessed at the speed of our own hashing.
	defaultFailures = 5

	// defaultRegistrations is how many accounts an address may try to make in a minute:
	// each costs a hash and a durable write, and a name that is gone for good.
	defaultRegistrations = 3

	// throttleSpan is the minute of both.
	throttleSpan = time.Minute

	// knownFor is how long an address is trusted with a name: "an address that logged in
	// to that name within 30 days is not held to the name's count, so that no one can lock
	// another out".
	knownFor = 30 * 24 * time.Hour

	// Argon2id with 19 MiB, 2 passes and 1 lane: about 35 ms of one core.
	hashMemoryKiB = 19 * 1024
	hashPasses    = 2
	hashLanes     = 1
	saltBytes     = 16
	keyBytes      = 32
)

// Our limits.
const (
	// maxNameBytes bounds a name before it is normalised, as that takes time: 32 letters of 4
	// bytes, each followed by up to three marks that may melt into it.
	maxNameBytes = 512

	// defaultQueue is how many requests may wait at each of three desks: for the store, and for
	// a hash from a known and from a strange address. At 28 hashes a second for each core a full one takes
	// 37 s to work off, which is within the minute that realm gives a connection to log in.
	// Past it, who has the most waiting is told Busy.
	defaultQueue = 1024

	// unansweredQueues is how many times Config.Queue may be unanswered in all, those whose
	// answer waits for a slow callback included. Past it a call returns ErrBusy.
	unansweredQueues = 4

	// readers is how many look into the store at once. A look takes about 50 µs with SQLite.
	readers = 4

	// maxThrottled is how many names, and how many addresses, have a count of failures at
	// once. Eight cores cannot hash for more names in a minute. Past it the one that failed
	// the longest ago is forgotten.
	maxThrottled = 16384

	// maxFailuresKept bounds the failures that are remembered for all names, and for all
	// addresses: 8 bytes each. A limit above 16 a minute so has fewer names that are counted.
	maxFailuresKept = 16 * maxThrottled

	// maxLimit bounds the counts of a minute that Config may set.
	maxLimit = 1000

	// storeTimeout is how long the store may take for one request; then the answer is
	// Failed. A database that hangs must not collect requests for ever.
	storeTimeout = 10 * time.Second

	// maxHashWait is how long a request may wait for a hash; then the answer is Busy. A full queue is worked off before, but not
	// by hashers that wait for the store's writes. Realm closes a connection that is not logged in after a minute, and its
	// player is to be told before.
	maxHashWait = 45 * time.Second

	// troubleEvery is how often the log says that the store fails, and troubleFor how long a failed write counts as trouble if
	// none comes after it that would tell: a server that nobody is sent to must become ready again.
	troubleEvery = time.Minute
	troubleFor   = time.Minute

	// defaultRecheck is how often the accounts of the sessions are read again, so that a
	// ban by another process, as the command line is, ends a session that is under way.
	defaultRecheck = 10 * time.Second

	// recheckAtOnce is how many are asked about with one query, some 30 KiB of text.
	recheckAtOnce = 4096

	// maxStoredMemoryKiB and maxStoredPasses bound what a hash in the store may ask of us:
	// who can write there could otherwise stop the server with one log-in.
	maxStoredMemoryKiB = 256 * 1024
	maxStoredPasses    = 16

	// prefixBits6 is what counts as one address of IPv6: one customer is commonly given
	// a /56, and could otherwise try from 2^72 addresses.
	prefixBits6 = 56

	// maxReasonBytes bounds the reason of a ban.
	maxReasonBytes = 512
)

// MaxKnown is how many addresses a store keeps for an account, the newest ones. It bounds the space of an
// account that is used from many addresses.
const MaxKnown = 16

// MaxList is the greatest number of accounts that List returns.
const MaxList = 1000
