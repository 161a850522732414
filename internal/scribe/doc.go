// Package scribe has a slog.Handler that never blocks its caller: lines go to a bounded buffer, and one goroutine passes them to
// the handler that writes them.
//
//	log := slog.New(scribe.New(slog.NewTextHandler(os.Stderr, nil)))
//
// So a standard error stream that nobody reads, or a disk that hangs, does not stop a server. When the buffer is full, the
// newest lines are dropped and counted, and a line reports their number once writing works again. Each kind of line (its
// message, level and dialect) is limited to ten a second, as strangers can cause lines as often as they like. The next line of
// that kind reports how many were left out. Text from strangers is made plain (package plain) and cut to a limit.
//
// The goroutine lives as long as there are lines to write. Flush waits for it.
package scribe
