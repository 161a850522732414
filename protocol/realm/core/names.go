package core

import "parley/internal/stream"

// StreamStats counts the fates of connections before a Mux has them.
type StreamStats = stream.Stats
