package relay

import "log/slog"

// Logger is what Config.Log takes.
type Logger = slog.Logger
