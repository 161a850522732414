package stamp

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley/protocol/stamp/core"
)

// Without a context that ends, a server that says nothing is given up by itself.
func TestDialGivesUpOnASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{}, nil)
		s.Close()
		start := time.Now()
		x, err := at.tryDial(t.Context(), t, s.Addr(), Config{})
		var why Close
		if x != nil || !errors.As(err, &why) || why.Reason != core.ReasonTimeout || time.Since(start) != 10*time.Second {
			t.Errorf("got %v, %v after %v", x, err, time.Since(start))
		}
	})
}
