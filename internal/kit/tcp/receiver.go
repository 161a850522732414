package tcp

import "time"

// ackDelay is how long a peer waits with an acknowledgement that may go along with an answer.
const ackDelay = 40 * time.Millisecond

// receiver acknowledges every segment: with the number up to which it has all, and the transmission that made it say so. As
// Linux does, one that has answered what it got expects to answer again: it acknowledges with its answer, every second segment, or
// after ackDelay, and at once from then on.
type receiver struct {
	next     uint32            // the first segment that is missing
	early    map[uint32][]byte // what came before its turn
	in       []byte            // what was not read yet
	segments uint64            // that came
	got      time.Time         // when the last came

	ack     ack // of the newest
	unacked int // segments that were not acknowledged
	now     bool
	due     time.Time // when they are at the latest
	answers bool
}

type ack struct{ next, segment, transmission uint32 }

func newReceiver() receiver { return receiver{early: map[uint32][]byte{}} }

func (r *receiver) handle(now time.Time, segment, transmission uint32, data []byte) {
	ordered := segment == r.next
	if segment >= r.next {
		r.early[segment] = append([]byte(nil), data...)
	}
	for b, ok := r.early[r.next]; ok; b, ok = r.early[r.next] {
		r.in = append(r.in, b...)
		delete(r.early, r.next)
		r.next++
	}
	r.segments++
	r.got = now
	r.ack = ack{r.next, segment, transmission}
	if r.unacked++; !ordered || r.unacked >= 2 || !r.answers {
		r.now = true
	} else {
		r.due = now.Add(ackDelay)
	}
}

func (r *receiver) timeout(now time.Time) {
	if !r.due.IsZero() && !now.Before(r.due) {
		r.now, r.answers = true, false
	}
}

// sends says that a segment goes out.
func (r *receiver) sends(now time.Time) {
	if now.Sub(r.got) < ackDelay {
		r.answers = true
	}
}

// poll returns an acknowledgement if one is due, or if it can go along with a segment.
func (r *receiver) poll(along bool) (ack, bool) {
	if r.unacked == 0 || !r.now && !along {
		return ack{}, false
	}
	r.unacked, r.now, r.due = 0, false, time.Time{}
	return r.ack, true
}
