package peers

import "time"

// sending is a participant here.
type sending struct {
	key   Key
	next  uint64 // number
	list  []flying
	full  bool // it has to wait
	leave bool // it is gone
}

// flying is a reliable package that some node has not confirmed.
type flying struct {
	number  uint64
	waits   uint64 // the slots of these nodes; 0 if all have, and one before it is still flying
	mode    uint8
	payload []byte
	due     time.Time
	after   time.Duration
	pressed bool
}

// Send sends a package to the participants of other nodes. It returns true if the participant has to wait with the next reliable one: until
// Config.Free.
func (l *Link) Send(now time.Time, k Key, mode uint8, pressed bool, payload []byte) (full bool) {
	if l.mask == 0 || len(payload) > maxPayload {
		return false
	}
	l.stats.Sent++
	l.soon(now.Add(gather))
	if mode == Unreliable {
		l.put(k, mode, pressed, 0, 0, payload)
		return false
	}
	s := l.out[k]
	if s == nil {
		s = &sending{key: k}
		l.out[k] = s
	}
	s.list = append(s.list, flying{s.next, l.mask, mode, append([]byte(nil), payload...), now.Add(resendAfter), resendAfter, pressed})
	s.next++
	l.flying++
	l.put(k, mode, pressed, s.list[0].number, s.next-1, payload)
	if len(s.list) >= maxFlying {
		s.full = true
	}
	return s.full
}

// Leave says that a participant is gone. What it has sent arrives all the same.
func (l *Link) Leave(now time.Time, k Key) {
	s := l.out[k]
	if s == nil {
		s = &sending{key: k} // it may have sent unreliable ones
		l.out[k] = s
	}
	s.leave = true
	l.shorten(s)
	l.soon(now.Add(gather))
}

// resend sends what is not confirmed again.
func (l *Link) resend(now time.Time) {
	for _, s := range l.out {
		for i := range s.list {
			f := &s.list[i]
			if f.waits == 0 || now.Before(f.due) {
				continue
			}
			f.after = min(2*f.after, resendMost)
			f.due = now.Add(f.after)
			l.stats.Again++
			l.put(s.key, f.mode, f.pressed || s.full, s.list[0].number, f.number, f.payload)
		}
	}
}

// confirmed takes a confirmation: all before next are taken, and behind it those whose bit is set.
func (l *Link) confirmed(from uint64, k Key, next, bits uint64) {
	n, s := l.nodes[from], l.out[k]
	if n == nil || n.slot < 0 || s == nil {
		return
	}
	for i := range s.list {
		if f := &s.list[i]; f.number < next || f.number-next < 64 && bits>>(f.number-next)&1 != 0 {
			f.waits &^= 1 << n.slot
		}
	}
	l.shorten(s)
}

// shorten lets go of what all have confirmed.
func (l *Link) shorten(s *sending) {
	done := 0
	for done < len(s.list) && s.list[done].waits == 0 {
		done++
	}
	if done > 0 {
		l.flying -= done
		rest := copy(s.list, s.list[done:])
		clear(s.list[rest:])
		s.list = s.list[:rest]
	}
	switch {
	case s.leave && len(s.list) == 0:
		delete(l.out, s.key)
		l.putEnd(s.key)
	case s.full && len(s.list) <= maxFlying/2:
		if s.full = false; l.cfg.Free != nil && !s.leave {
			l.cfg.Free(s.key)
		}
	}
}
