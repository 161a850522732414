package certs

import "time"

const (
	// lookEvery is how often files are read again. Renewals come days before the end, so seconds are soon enough; it is short for
	// operators who watch.
	lookEvery = 2 * time.Second

	// maxFile bounds a file: a chain of certificates has some kilobytes.
	maxFile = 1 << 20

	// firstPause and maxPause bound the time between two requests for a certificate that fail. Let's Encrypt allows five failed
	// validations an hour for a name, and a request can fail two of them.
	firstPause = 2 * time.Minute
	maxPause   = 2 * time.Hour

	// challengeTimeout bounds each read and write at the port of HTTP challenges, and challengeConns the connections there, as
	// strangers find the port too.
	challengeTimeout = 5 * time.Second
	challengeConns   = 64
)
