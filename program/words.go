package program

import (
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/plain"
)

// sayPatience is how long a word of the program itself may take to be written.
var sayPatience = 3 * time.Second

// say writes text, but does not wait for ever: a pipe that nobody reads must not keep a server from starting or ending. It
// reports whether it is written, or why not.
func say(w io.Writer, text string) error {
	done := make(chan error, 1)
	go func() {
		_, err := io.WriteString(w, text)
		done <- err
	}()
	timer := time.NewTimer(sayPatience)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return nil // it waits in the pipe for somebody to read it
	}
}

// sentence makes an error one line: a server's reason may be in it, and that is a stranger's text.
func sentence(err error) string { return plain.Text(strings.ReplaceAll(err.Error(), "\n", "; ")) }

// heldWords keeps the log back until the server has started: if it does not, one sentence says
// why, and what had begun to listen before is of no interest. (With --log-level debug it is.)
type heldWords struct {
	w    io.Writer
	open atomic.Bool

	mu   sync.Mutex // also of w
	held []byte     // some lines of "listening"
}

func (h *heldWords) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open.Load() {
		h.held = append(h.held, p...)
		return len(p), nil
	}
	if len(h.held) > 0 {
		h.w.Write(h.held)
		h.held = nil
	}
	return h.w.Write(p)
}

// release has what was held written, and from now on all at once. It does not wait for that.
func (h *heldWords) release() {
	if !h.open.Swap(true) {
		go h.Write(nil)
	}
}
