package stream

import "time"

// watch finds out that a path takes less than it did, or than was thought, before much is lost on it or waits there: what was sent does
// not arrive as it did. Until it is known what the path takes, little is sent.
type watch struct {
	least  time.Duration // the least round trip of this epoch and the one before
	newer  time.Duration // that of this epoch
	epoch  time.Duration // when it ends
	usual  time.Duration // what it is while nothing waits on the way
	last   time.Duration // the newest
	spread time.Duration // by how much it differs from the one before

	prompt  time.Duration // when the newest bytes were written that came in time: those before are late by bad luck
	doubted int           // round trips in a row that were long and may not have been
	overdue int           // how many marks since then are so late that they are lost, or something waits
	delayed bool          // the newest that came took calmWait longer than usual
	late    bool          // it took overdueWait longer

	begun   bool
	most    int           // bytes of a tick at first; 0 if that is over
	careful bool          // most grows slowly
	raised  time.Duration // when most was

	held   time.Duration // since when little is sent, as too much is late; 0 if that is not so
	vain   int           // times that this was so and did not show what the path takes, since all could be sent
	waited bool          // something came late since

	// What arrived while something waited all the time is what the path takes.
	points int           // how often something came
	from   time.Duration // when the first of it did
	bytes  uint64        // that had arrived by then
	newest time.Duration // when the last did
	upTo   uint64        // bytes that had arrived by then
}

// isDelayed reports whether a round trip is longer than usual, by more than round trips differ by.
func (w *watch) isDelayed(took time.Duration) bool { return took > w.usual+calmWait+w.spread }

// isLate reports whether it is so by far. On a narrow path something always waits.
func (w *watch) isLate(f *Flow, took time.Duration) bool {
	if f.path.Narrow() {
		return took > w.usual+narrowWait+w.spread
	}
	return took > w.usual+overdueWait+2*w.spread
}

// floor is the least round trip that a path is told of, as a peer that gathers acknowledgements sends some at once.
func (w *watch) floor() time.Duration { return w.usual - (w.usual-w.least)/2 }

// sample takes how long the bytes of a mark took.
func (w *watch) sample(f *Flow, at time.Duration, m *mark, took time.Duration) {
	calm := w.overdue == 0 && !w.delayed && w.held == 0 && !f.path.Narrow()
	if w.least == 0 {
		w.least, w.usual, w.last, w.spread = max(f.least, 1), took, took, firstSpread
		w.newer, w.epoch = took, at+leastEpoch
	}
	w.least, w.newer = min(w.least, took), min(w.newer, took)
	if at >= w.epoch { // the path may have become longer
		w.least, w.newer, w.epoch = w.newer, took, at+leastEpoch
	}
	if took < w.usual {
		w.usual += (took - w.usual) / 8
	} else if calm {
		w.usual += (took - w.usual) / 64 // slower than a queue grows
	}
	w.usual = min(max(w.usual, w.least), w.least+gatherTime)
	w.delayed, w.late = w.isDelayed(took), w.isLate(f, took)
	w.waited = w.waited || w.late
	if w.held == 0 && !w.late {
		w.spread += (min((took-w.last).Abs(), overdueWait) - w.spread) / 16
	}
	w.last = took
	if !w.delayed {
		w.doubted = 0
		w.prompt = max(w.prompt, m.at)
	}
	w.raise(at, m)
	switch {
	case w.held == 0 && (!w.delayed || f.path.Narrow()):
		w.points = 0
	case w.delayed && m.at >= w.held && !f.isAlone():
		w.point(m.at+took, m.end+m.beside)
	}
}

// point notes that something has come that had waited.
func (w *watch) point(at time.Duration, bytes uint64) {
	if w.points == 0 {
		w.from, w.bytes = at, bytes
	}
	w.points++
	w.newest, w.upTo = at, bytes
}

// raise lets a tick send twice as much when what was sent came in time, about as much as a tick may send now, and half as much
// when it did not come in time. It is careful if there was too much: then the path sees its queue begin.
func (w *watch) raise(at time.Duration, m *mark) {
	switch {
	case w.most == 0 || m.at < w.raised:
	case w.delayed:
		w.most, w.raised = max(w.most/2, firstBytes), at
	case at-w.raised > calmAfter: // there is no more to send
		w.most, w.careful, w.vain = 0, false, 0
	case m.bytes < uint64(w.most)*3/4:
	default:
		w.raised = at
		if w.careful {
			w.most += w.most / 4
		} else {
			w.most = 2 * max(w.most, int(m.bytes))
		}
		if w.most > mostFirst {
			w.most, w.careful, w.vain = 0, false, 0
		}
	}
}

// expire counts what is overdue. What the peer has got behind a gap is not.
func (w *watch) expire(f *Flow, at time.Duration) {
	w.overdue = 0
	if w.least == 0 {
		return
	}
	for i := range f.count {
		if m := f.at(i); w.isLate(f, at-m.at) && m.at > w.prompt && m.end > f.acked+f.beyond {
			w.overdue++
		}
	}
}

// age returns for how long the oldest bytes have been under way that may wait for something on the path. What the peer has got behind a
// gap does not, nor what was written before something came in time: that was lost.
func (w *watch) age(f *Flow, at time.Duration) time.Duration {
	for i := range f.count {
		if m := f.at(i); m.at > w.prompt && m.end > f.acked+f.beyond {
			return at - m.at
		}
	}
	return 0
}

// isWatched reports whether more is to be known of the path soon.
func (f *Flow) isWatched() bool {
	w := &f.watch
	return f.path.Narrow() || f.waits || w.held > 0 || w.most > 0 || w.overdue > 0 || f.maySeemSlow() && f.recovers()
}

// recovers reports whether the system has sent something again of late.
func (f *Flow) recovers() bool { return f.again > 0 && f.looked-f.again < recoverTime }

// restrain bounds what a tick may send while it is not known what the path takes, or if that is in doubt.
func (f *Flow) restrain(at time.Duration, bytes int) int {
	w := &f.watch
	if !w.begun {
		w.begun, w.most, w.raised = true, firstBytes, at
	}
	doubts := w.overdue
	if w.late {
		doubts++
	}
	sure := w.late && w.points >= heldLooks || doubts >= manyDoubts && w.most > 0 && w.points >= 2
	switch {
	case w.held > 0:
	case sure && !f.path.Narrow() && f.find(at, f.written+f.beside): // a queue that has grown for a while has dropped nothing
		return 0
	case doubts >= manyDoubts && (!f.isAlone() || !f.path.Narrow() && !f.waitsForGap()):
		w.held, w.points, w.waited = at, 0, w.late
	}
	switch {
	case w.held > 0 && f.isAlone():
		return 0
	case w.held > 0 && f.path.Narrow():
		return min(heldBytes, int(f.path.Estimate().Rate/heldPart))
	case w.held > 0:
		return heldBytes
	case w.most > 0 && !f.path.Narrow():
		return min(bytes, w.most)
	case w.overdue > 0:
		bytes = min(bytes, doubtBytes)
	}
	if f.path.Narrow() {
		w.most, w.careful, w.vain = 0, false, 0
	}
	return bytes
}

// waitsForGap reports whether what is late may wait for something that was lost.
func (f *Flow) waitsForGap() bool { return f.gap || f.count > 0 && f.again >= f.at(0).at }

// heldArrived ends the time in which little is sent: when it is known what the path takes, or nothing waits any more. A stream loses
// nothing, so all that arrives counts. Of datagrams, those that were sent before may be lost, and would look like a higher rate than
// there is.
func (f *Flow) heldArrived(at, last time.Duration, n int) {
	w := &f.watch
	sent := f.written + f.beside
	if f.isAlone() {
		if sent = f.written; n > 0 {
			w.point(last, f.acked+f.beyond)
		}
	}
	switch {
	case !w.late && w.overdue == 0: // nothing waits, or no more
		w.held = 0
		if !(w.points >= 2 && f.find(at, sent)) && w.waited && !f.path.Narrow() {
			w.most, w.careful, w.raised = 2*heldBytes, true, at
			if w.vain++; w.vain >= vainHolds {
				f.path.Late(at) // so little waits each time that its rate cannot be said
			}
		}
	case w.points >= heldLooks && f.find(at, sent):
		w.held = 0
	}
}

// find tells the path what it takes, if that can be said: so much was sent, and what of it is not here waits.
func (f *Flow) find(at time.Duration, sent uint64) bool {
	w := &f.watch
	if w.newest-w.from < findTime || w.upTo <= w.bytes || f.isAlone() && w.upTo-w.bytes < 2*segmentBytes {
		return false
	}
	rate := int64(w.upTo-w.bytes) * int64(time.Second) / int64(w.newest-w.from)
	waiting := time.Duration(int64(sent-w.upTo) * int64(time.Second) / max(rate, 1))
	if known := f.path.Estimate().Rate; known > 0 {
		rate = min(rate, known)
	}
	f.path.Found(at, rate, max(waiting-w.usual, 0))
	return true
}
