package core

import (
	"parley/internal/admission"
	"parley/internal/carry"
	"parley/internal/datagram"
	"parley/internal/metric"
	"parley/internal/pace"
	"parley/internal/reliable"
)

// The types of internal packages that the exported names of this package mention.
type (
	// Key is the secret of a server, from crypto/rand.
	Key = admission.Key
	// Pressure is how far a sender is behind its caller.
	Pressure = reliable.Pressure
	// Path is what is known of the path to a client.
	Path = pace.Estimate
	// EngineStats counts what the engine of reliable packets did.
	EngineStats = reliable.Stats
	// SendStats and ReceiveStats are the two parts of EngineStats.
	SendStats    = reliable.SendStats
	ReceiveStats = reliable.ReceiveStats
	// Times is a histogram of durations.
	Times = metric.Times
	// SocketStats counts what a UDP socket did.
	SocketStats = datagram.Stats
	// Faults counts transient errors of a socket.
	Faults = datagram.Faults
	// LoopStats counts what the loop of a server did.
	LoopStats = datagram.LoopStats
	// SessionStats are the counters of sessions of browsers.
	SessionStats = carry.Stats
)
