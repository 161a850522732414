package shell

import (
	cryptorand "crypto/rand"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"time"

	"parley/internal/scribe"
)

// logPatience is how long a server that ends waits for the last lines of its log.
const logPatience = time.Second

// Rand returns an unpredictable random source, for one loop.
func Rand() *rand.Rand {
	var seed [32]byte
	cryptorand.Read(seed[:])
	return rand.New(rand.NewChaCha8(seed))
}

// Number returns the number of a connection for a line of the log, as conn. A line about a connection without a number has none.
func Number(n uint32) slog.Attr {
	if n == 0 {
		return slog.Attr{} // which handlers leave out
	}
	return slog.Uint64("conn", uint64(n))
}

// Log returns the logger of a server or a client: each line has the dialect and the address. If l is nil, nothing is logged.
func Log(l *slog.Logger, name, side string, addr netip.AddrPort) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.With("proto", name, side, addr)
}

// ServerLog is Log for a server. A separate goroutine writes the lines, so that a writer that hangs does not stop the loop. Lines
// beyond the buffer of package scribe are dropped. flush waits for the remaining lines, but at most for logPatience. If l already
// has such a goroutine, it is used as it is, and flush does not wait.
func ServerLog(l *slog.Logger, name string, addr netip.AddrPort) (log *slog.Logger, flush func()) {
	flush = func() {}
	if l != nil {
		if _, ok := l.Handler().(*scribe.Handler); !ok {
			h := scribe.New(l.Handler())
			l, flush = slog.New(h), func() { h.Flush(logPatience) }
		}
	}
	return Log(l, name, "local", addr), flush
}
