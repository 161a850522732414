// Package scribe is a slog.Handler that never blocks its caller: lines go to a bounded buffer, and one goroutine passes them to
// the handler that writes.
//
//	log := slog.New(scribe.New(slog.NewTextHandler(os.Stderr, nil)))
//
// So a standard error that nobody reads, or a disk that hangs, stops no loop and no tick. When the buffer is full, the newest
// lines are dropped and counted, and a line reports their number once writing works again. Each kind of line (its message, level
// and dialect) is limited to ten a second, as strangers decide how often something happens. The next line of that kind reports
// how many were left out. Text from strangers is made plain (package plain) and cut.
//
// The goroutine lives as long as there are lines to write. Flush waits for it.
package scribe
