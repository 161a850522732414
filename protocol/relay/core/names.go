package core

import (
	"log/slog"

	"parley/internal/admission"
	"parley/internal/metric"
	"parley/internal/reliable"
	"parley/internal/udp"
)

// The types of other packages that users meet here.
type (
	// Logger is the type of Config.Log.
	Logger = slog.Logger
	// Key is the secret of a server: random bytes.
	Key = admission.Key
	// EngineStats counts what the engine of reliable packages did.
	EngineStats = reliable.Stats
	// Times is a histogram of durations.
	Times = metric.Times
	// SocketStats counts what a UDP socket did.
	SocketStats = udp.Stats
	// LoopStats counts what the loop of a socket did.
	LoopStats = udp.LoopStats
)
