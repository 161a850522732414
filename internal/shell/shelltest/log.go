package shelltest

import (
	"bytes"
	"io"
	"log/slog"

	"parley/internal/patient"
)

// Log returns a logger of lines without their time.
func Log(out io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// Hung is a writer that takes the line that says that a server listens, and hangs with the next until it is closed.
type Hung chan struct{}

// Write hangs, but with the first line.
func (h Hung) Write(p []byte) (int, error) {
	if !bytes.Contains(p, []byte("listening")) {
		patient.Value(h)
	}
	return len(p), nil
}
