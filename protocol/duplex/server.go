package duplex

import (
	"crypto/tls"
	"log/slog"
)

// Logger is what Config.Log takes, and TLSConfig what Config.TLS does.
type (
	Logger    = slog.Logger
	TLSConfig = tls.Config
)
