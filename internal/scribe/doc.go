// Package scribe is a slog.Handler that never keeps its caller waiting: lines go to a bounded buffer, and one
// goroutine hands them to the handler that writes.
//
//	log := slog.New(scribe.New(slog.NewTextHandler(os.Stderr, nil)))
//
// A standard error that nobody reads, or a disk that hangs, so stops no loop and no tick. When the buffer is full the newest lines are
// dropped and counted, and a line says how many once writing works again. A kind of line (its message, level and
// dialect) comes at most ten times a second, as strangers decide how often something happens: the next line of
// that kind says how many were left out. What strangers say is made plain (package plain) and cut.
//
// The goroutine lives as long as there are lines to write. Flush waits for it.
package scribe
