package shelltest

import (
	"bytes"
	"io"
	"log/slog"
	"sync"

	"parley/internal/patient"
)

// Log returns a logger whose lines have no time.
func Log(out io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// Hung is a writer that accepts the line that says that a server listens, and blocks on the next until the channel
// is closed.
type Hung chan struct{}

// Write blocks, except for the line with "listening".
func (h Hung) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte("listening")) {
		patient.Value(h)
	}
	return len(p), nil
}

// Buffer is a bytes.Buffer for several goroutines.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write appends p.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// String returns what was written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
