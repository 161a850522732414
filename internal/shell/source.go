package shell

import (
	cryptorand "crypto/rand"
	"log/slog"
	"math/rand/v2"
	"net/netip"
)

// Rand returns a random source that no one can foresee, for one loop.
func Rand() *rand.Rand {
	var seed [32]byte
	cryptorand.Read(seed[:])
	return rand.New(rand.NewChaCha8(seed))
}

// Log returns the logger of a server or a client: each line says which dialect and which
// address. Without a logger there are no lines.
func Log(l *slog.Logger, name, side string, addr netip.AddrPort) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.With("proto", name, side, addr)
}
