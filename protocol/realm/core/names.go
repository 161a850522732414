package core

import (
	"parley/internal/carry"
	"parley/internal/stream"
)

// StreamStats counts the fates of connections before a Mux has them.
type StreamStats = stream.Stats

// SessionStats are the counters of sessions of browsers.
type SessionStats = carry.Stats
