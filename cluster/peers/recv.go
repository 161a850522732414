package peers

import (
	"math/bits"
	"time"
)

// receiving is a participant of another node.
type receiving struct {
	from    From
	next    uint64 // all reliable packages before it are taken
	taken   uint64 // a bit for each behind it that is, from next on
	held    map[uint64]held
	heard   time.Time
	owes    bool   // a confirmation
	blocked bool   // a package is to be offered again
	apart   bool   // it is not known yet whether the other node waits for this one: what is skipped is not missed
	sure    uint64 // from this number on it is
	ended   bool
}

// held is a package that has come and is not taken.
type held struct {
	mode    uint8
	pressed bool
	payload []byte
}

// receive takes a package.
func (l *Link) receive(now time.Time, from From, mode uint8, pressed bool, low, number uint64, payload []byte) {
	if l.local == 0 || mode > SemiOrdered || len(payload) > maxPayload {
		return
	}
	if mode == Unreliable {
		if r := l.in[from]; r == nil || !r.ended {
			l.know(now, from, 0)
			l.stats.Taken++
			l.cfg.Take(from, mode, payload, pressed)
		}
		return
	}
	r := l.know(now, from, low)
	if r == nil || r.ended {
		return
	}
	if n := l.nodes[from.Node]; r.apart && n != nil && n.echoes >= sureAfter {
		r.apart, r.sure = false, number
	}
	if low > r.next && low <= number {
		l.skip(r, low)
	}
	l.owe(now, r)
	switch {
	case number < r.next || number-r.next < 64 && r.taken>>(number-r.next)&1 != 0:
		l.stats.Repeats++
		return
	case number-r.next >= maxFlying:
		l.stats.Refused++
		return
	}
	if old, ok := r.held[number]; ok {
		l.stats.Repeats++
		old.pressed = old.pressed || pressed
		r.held[number] = old
	} else {
		r.held[number] = held{mode, pressed, append([]byte(nil), payload...)}
	}
	l.offer(now, r)
}

// owe has what was taken confirmed soon.
func (l *Link) owe(now time.Time, r *receiving) {
	if !r.owes {
		r.owes = true
		l.owing = append(l.owing, r)
	}
	l.soon(now.Add(confirmAfter))
}

// know returns what is known of a participant, nil if there are too many.
func (l *Link) know(now time.Time, from From, first uint64) *receiving {
	r := l.in[from]
	if r == nil {
		if len(l.in) >= maxStreams {
			l.stats.Refused++
			return nil
		}
		r = &receiving{from: from, next: first, held: map[uint64]held{}, apart: true}
		l.in[from] = r
	}
	r.heard = now
	return r
}

// skip goes on at a number before which all is confirmed or given up by those who had to.
func (l *Link) skip(r *receiving, low uint64) {
	missed := false
	for n := range r.held {
		if n < low {
			delete(r.held, n)
		}
	}
	for r.next < low {
		if low-r.next > 64 {
			missed, r.next, r.taken = missed || low > r.sure, low, 0
			break
		}
		missed = missed || r.taken&1 == 0 && r.next >= r.sure
		r.taken >>= 1
		r.next++
	}
	l.advance(r)
	if missed && !r.apart {
		l.stats.Missed++
		if l.cfg.Missed != nil {
			l.cfg.Missed()
		}
	}
}

// advance goes on behind what is taken.
func (l *Link) advance(r *receiving) {
	n := bits.TrailingZeros64(^r.taken)
	r.next += uint64(n)
	r.taken >>= n
}

// offer has what may be taken be taken, in order.
func (l *Link) offer(now time.Time, r *receiving) {
	was := r.blocked
	r.blocked = false
	for n := r.next; n < r.next+maxFlying && len(r.held) > 0 && !r.blocked; n++ {
		h, ok := r.held[n]
		if !ok || h.mode == SemiOrdered && n != r.next {
			continue
		}
		if !l.cfg.Take(r.from, h.mode, h.payload, h.pressed) {
			r.blocked = true
			break
		}
		delete(r.held, n)
		l.stats.Taken++
		l.owe(now, r)
		r.taken |= 1 << (n - r.next)
		if n == r.next {
			l.advance(r)
			n = r.next - 1
		}
	}
	if r.blocked != was {
		l.blocked--
		if r.blocked {
			l.blocked += 2
		}
	}
}

// offerAgain offers what had to wait.
func (l *Link) offerAgain(now time.Time) {
	if l.blocked == 0 {
		return
	}
	for _, r := range l.in {
		if r.blocked {
			l.offer(now, r)
		}
	}
}

// confirm confirms what was taken.
func (l *Link) confirm() {
	for i, r := range l.owing {
		l.putConfirmation(r)
		r.owes, l.owing[i] = false, nil
	}
	l.owing = l.owing[:0]
}

// end notes that a participant is gone.
func (l *Link) end(now time.Time, from From) {
	if r := l.in[from]; r != nil && !r.ended {
		r.ended, r.heard = true, now
		l.drop(r)
	}
}

// drop lets go of what a participant has sent.
func (l *Link) drop(r *receiving) {
	if clear(r.held); r.blocked {
		r.blocked = false
		l.blocked--
	}
	if l.cfg.Ended != nil {
		l.cfg.Ended(r.from)
	}
}

// forget lets go of participants who have said nothing for long.
func (l *Link) forget(now time.Time) {
	for from, r := range l.in {
		if now.Sub(r.heard) < forgetAfter || r.blocked {
			continue
		}
		delete(l.in, from)
		if !r.ended {
			l.drop(r)
		}
	}
}
