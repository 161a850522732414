package core

import "parley/internal/datagram"

type (
	// SocketStats are the counters of the feed's socket.
	SocketStats = datagram.Stats

	// SocketFaults are the transient errors of the feed's socket.
	SocketFaults = datagram.Faults

	// LoopStats are the counters of a server's loop.
	LoopStats = datagram.LoopStats
)
