package core

import (
	"parley/internal/stream"
	"parley/internal/udp"
)

type (
	// SocketStats are the counters of the feed's socket.
	SocketStats = udp.Stats

	// SocketFaults are the transient errors of the feed's socket.
	SocketFaults = udp.Faults

	// StreamStats counts the fates of mains before a Mux has them.
	StreamStats = stream.Stats

	// LoopStats are the counters of a server's loop.
	LoopStats = udp.LoopStats
)
