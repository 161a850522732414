package call

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"
)

// again opens a session. A server that is busy, or has too many handshakes at the moment, is asked again in a while, and so is one that breaks
// the connection off, but only for patience, or retryTime if that is 0.
func again(ctx context.Context, patience time.Duration, open func() (*Session, error)) (*Session, error) {
	end := time.Now().Add(cmp.Or(patience, retryTime))
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		s, err := open()
		if err == nil || !isPassing(err) {
			return s, err
		}
		wait := pause/2 + rand.N(pause) // so that those who were refused together do not come together again
		if time.Now().Add(wait).After(end) {
			return nil, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, err
		}
	}
}

// isPassing reports whether an error may be gone in a while.
func isPassing(err error) bool {
	var refused *Refused
	if errors.As(err, &refused) {
		return refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusServiceUnavailable
	}
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isCutOff(err)
}
