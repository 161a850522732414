package core

import (
	"log/slog"

	"parley/internal/admission"
	"parley/internal/carry"
	"parley/internal/datagram"
	"parley/internal/metric"
	"parley/internal/pace"
	"parley/internal/reliable"
)

// The types of other packages that the exported names of this package mention.
type (
	// Logger is the type of Config.Log.
	Logger = slog.Logger
	// Key is the secret of a server: random bytes.
	Key = admission.Key
	// Path is what is known of the path to a peer.
	Path = pace.Estimate
	// EngineStats counts what the engine of reliable packages did.
	EngineStats = reliable.Stats
	// SendStats is the sender's part of EngineStats.
	SendStats = reliable.SendStats
	// ReceiveStats is the receiver's part of EngineStats.
	ReceiveStats = reliable.ReceiveStats
	// Times is a histogram of durations.
	Times = metric.Times
	// SocketStats counts what a UDP socket did.
	SocketStats = datagram.Stats
	// SocketFaults counts the transient errors of a socket.
	SocketFaults = datagram.Faults
	// LoopStats counts what the loop of a socket did.
	LoopStats = datagram.LoopStats
	// SessionStats are the counters of sessions of browsers.
	SessionStats = carry.Stats
)
