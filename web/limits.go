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
)
