package web

import "time"

// Limits of the page's own server: it is for a few people and one scraper.
const (
	readTimeout  = 5 * time.Second  // a client that sends its request slowly
	writeTimeout = 10 * time.Second // one that reads slowly
	idleTimeout  = time.Minute
	maxHeader    = 16 << 10

	// maxConns bounds connections, each of which costs a goroutine, buffers and a descriptor that the game may need. Beyond
	// it the oldest that is not being answered is closed: ten thousand slow clients push out each other, and an honest request,
	// which takes a moment, is answered.
	maxConns = 256

	// maxAtOnce is how many answers are made at once: each reads all counters. Sending them, however slowly
	// somebody reads, is not counted.
	maxAtOnce = 4

	// freshFor is for how long counters are shown again before they are read anew.
	freshFor = 100 * time.Millisecond

	// maxBody bounds the body of a request to the API: the largest sensible one, a room with a list of accounts, is shorter.
	maxBody = 64 << 10

	// maxReason is the longest reason of a kick or a ban: a dialect says it in a string with a size of one byte.
	maxReason = 255

	// maxSeconds bounds times in requests, ten years, so that none overflows.
	maxSeconds = 10 * 365 * 24 * 60 * 60

	// matchPatience is how long a call of /v1/match waits at most. The server itself gives up after 30 seconds.
	matchPatience = 35 * time.Second

	// maxMatches bounds calls of /v1/match that wait. Each costs a connection, a goroutine and its buffers, some 20 KiB. The caller
	// has the token, so it is no stranger, but a backend that asks in a loop must not take the descriptors that players need.
	maxMatches = 512

	// maxListeners bounds clients of /v1/events: a page that is open in many windows, or a program that opens streams and does not
	// read them. Each costs a connection and up to maxUnread pointers to events that all share.
	maxListeners = 64

	// maxUnread is how many events wait for a client to read them: eight seconds without lines of the log.
	maxUnread = 8

	// maxEvent bounds the lists of a state event, in bytes: 4,096 players would be a megabyte, each second, for each client.
	maxEvent = 128 << 10

	// maxLivePlayers and maxLiveRooms bound an event of /v1/live: one with everything is a megabyte for 5,000 players, and it is made
	// only for those who come, or who have missed one.
	maxLivePlayers = 5000
	maxLiveRooms   = 1000

	// lossSpan is over how many seconds the loss of a player is told.
	lossSpan = 10

	// historyPoints and historyEvery are ten minutes of points, some 30 KiB.
	historyPoints = 300
	historyEvery  = 2 * time.Second

	// maxCounters bounds the answer of /v1/counters: a game may have many kinds with many fields.
	maxCounters = 5000

	// stateEvery and logEvery are how often clients of /v1/events, and the first of them those of /v1/live, are told of the server and of its log.
	stateEvery = time.Second
	logEvery   = 250 * time.Millisecond
)
