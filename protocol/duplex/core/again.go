package core

import "time"

// again is the newest update of an element, which is said again: nothing says whether a datagram has arrived, and a player who steers now and then
// would wait for the next time. Few connections of a server ever have one.
type again struct {
	data []byte
	sid  int16
	left uint8     // how often it is still said
	at   time.Time // when it is next
	wait time.Duration
	kept time.Time // when the update before it was sent
}

const (
	// againAfter is how long after an update it is said again, so that a short burst of loss does not take both. The next time is
	// againGrows times as long after that.
	againAfter = 8 * time.Millisecond
	againGrows = 3

	// againSteady is the time between the updates of a sender that goes on: it says the next value before the last one is worth saying again.
	againSteady = 40 * time.Millisecond

	// againBytes bounds the updates that are said again, as each connection keeps one. Larger ones are not worth the bytes.
	againBytes = 256

	// answerBeside is the size of a tick, in bytes, from which an answer is not told again. Whether the path is narrow may not be known yet, and behind so
	// much an answer would find a full queue, or make one.
	answerBeside = 4096
)

// keep has an update said again, so many times.
func (f *feed) keep(now time.Time, sid int16, data []byte, times uint8) {
	if f.again == nil {
		f.again = new(again)
	}
	a := f.again
	a.wait = againAfter
	if now.Sub(a.kept) < againSteady {
		a.wait = againSteady
	}
	a.kept = now
	if a.left = times; len(data) > againBytes {
		a.left = 0
		return
	}
	a.data, a.sid, a.at = append(a.data[:0], data...), sid, now.Add(a.wait)
}

// forget has an element not said again, as something newer is said of it.
func (f *feed) forget(sid int16) {
	if f.again != nil && f.again.sid == sid {
		f.again.left = 0
	}
}

// due reports whether the update is to be said now.
func (a *again) due(now time.Time) bool {
	if a.left == 0 || now.Before(a.at) {
		return false
	}
	a.left--
	a.wait *= againGrows
	a.at = now.Add(a.wait)
	return true
}
