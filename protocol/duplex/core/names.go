package core

import (
	"parley/internal/carry"
	"parley/internal/datagram"
	"parley/internal/stream"
)

type (
	// SocketStats are the counters of the feed's socket.
	SocketStats = datagram.Stats

	// SocketFaults are the transient errors of the feed's socket.
	SocketFaults = datagram.Faults

	// StreamStats counts the fates of mains before a Mux has them.
	StreamStats = stream.Stats

	// LoopStats are the counters of a server's loop.
	LoopStats = datagram.LoopStats
	// SessionStats are the counters of sessions of browsers.
	SessionStats = carry.Stats
)
