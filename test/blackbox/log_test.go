package blackbox

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// fullPipe is a pipe that is full and that nobody reads.
func fullPipe(t *testing.T) (w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	// It is full when ten writes in turn wrote nothing: one may have been late for its deadline on a busy machine.
	for _, block := range [][]byte{make([]byte, 4096), make([]byte, 1)} {
		for still := 0; still < 10; still++ {
			if err := w.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
				t.Skip(err) // no pipes of that kind here
			}
			if n, _ := w.Write(block); n > 0 {
				still = 0
			}
		}
	}
	return w
}

// 15.9: a standard error that nobody reads freezes nothing: players come and go, /metrics answers, and SIGTERM ends the program in
// good order.
func TestAStandardErrorThatNobodyReads(t *testing.T) {
	t.Parallel() // it mostly waits
	s := newServer(t, "--log-level", "debug")
	s.cmd.Stderr = fullPipe(t)
	s.start(t)
	for _, g := range guests(s, 1) {
		c, err := g.come()
		if err != nil {
			t.Fatalf("%s: %v", g.dialect, err)
		}
		defer c.close()
	}
	if status, body := get(t, "http://"+s.addrs["web"]+"/metrics"); status != http.StatusOK || !strings.Contains(body, "\nparley_log_waiting ") || strings.Contains(body, "\nparley_log_waiting 0") {
		t.Errorf("/metrics (status %d) does not tell of the lines that wait", status)
	}
	s.stop(t)
}
