package core

import (
	"slices"
	"time"
)

// trips are the newest round trips of surveys. Peers gather confirmations for 20 ms, and nothing in a confirmation says for how long: so a
// round trip of most packages is that of the path and of the gathering. A survey asks for nothing but its confirmation, which
// goes out at once. The zero value knows none.
type trips struct {
	took [4]time.Duration // a confirmation may have had to wait after all: the least of them counts
	next uint8
	when time.Time // of the newest
}

func (t *trips) add(now time.Time, took time.Duration) {
	t.took[t.next], t.when = max(took, leastTrip), now
	t.next = (t.next + 1) % uint8(len(t.took))
}

// least returns the least of them, 0 if there are none.
func (t *trips) least() (least time.Duration) {
	for _, took := range t.took {
		if took > 0 && (least == 0 || took < least) {
			least = took
		}
	}
	return least
}

// survey measures the path with an empty repeat of a package that the peer has confirmed. The peer confirms it and delivers
// nothing, and it is not resent. It is as a probe, but semi-ordered, which means nothing for a repeat: by that our own
// endpoints know it. The confirmations of probes are gathered: what is learnt of a path that is full does not mind, and is made
// for it.
type survey struct {
	trips
	wanted bool      // somebody wants to know
	flying bool      // one is under way
	sent   time.Time // the newest
	number uint64    // of the package that it repeats
	known  time.Time // when that was confirmed; zero is never
	count  uint64
}

const (
	// tripEvery is how old a round trip may be before another one is measured, if somebody wants to know.
	tripEvery = time.Second

	// surveyRest is how long after its confirmation a package is repeated: the confirmation of a copy of it, which may still be under way,
	// would be taken for that of the repeat.
	surveyRest = 500 * time.Millisecond

	// leastTrip is the shortest round trip that is believed.
	leastTrip = time.Millisecond

	// promptAfterMS is how long confirmations are gathered at least before those of a repeat go out: a flood of repeats costs no flood
	// of confirmations.
	promptAfterMS = 2
)

// RTT returns the round-trip time of the path, 0 while it is unknown. It leaves out the time for which peers of this package
// gather confirmations. A call has the path measured once more with the next packages, if it was not in the last second; the first
// measurement takes half a second from the peer's first confirmation.
func (e *Endpoint) RTT() time.Duration {
	if !e.surveys() {
		return e.sender.RTT()
	}
	s := &e.seldom().survey
	s.wanted = s.wanted || e.now.Sub(s.when) >= tripEvery
	return s.least()
}

// surveys reports whether surveys are confirmed at once: not where others fix the delays, and expect quiet.
func (e *Endpoint) surveys() bool { return e.rules.ResendAfter == 0 }

// repeated has the confirmation of a survey go out now, with those that were gathered: the peer measures the path.
func (e *Endpoint) repeated(now time.Time) {
	e.prompt = e.prompt || e.surveys() && e.shared.ms(now)-e.confirmedMS >= promptAfterMS
}

// nextSurvey writes the package that measures the path into buf, if somebody wants to know and it is time.
func (e *Endpoint) nextSurvey(buf []byte) (int, bool) {
	if e.rare == nil || !e.survey.wanted || e.state != StateOpen {
		return 0, false
	}
	s := &e.survey
	if e.now.Sub(s.sent) < tripEvery || s.known.IsZero() || e.now.Sub(s.known) < surveyRest || e.sender.Next()-s.number >= maxOutstanding {
		return 0, false
	}
	s.wanted, s.flying, s.sent = false, true, e.now
	s.count++
	return len(appendHeader(buf[:0], packageFlags(SemiOrdered, true), uint32(s.number)&MaxID)), true
}

// surveyed takes the confirmation of a number, and reports whether it is that of the repeat.
func (e *Endpoint) surveyed(now time.Time, number uint64) bool {
	if e.rare == nil {
		return false
	}
	s := &e.survey
	if !s.flying || s.number != number {
		return false
	}
	s.flying = false
	s.add(now, now.Sub(s.sent))
	return true
}

// mayRepeat notes that a package was confirmed, which the next survey may repeat. One that is older is kept for a while: the
// newest is always too new.
func (e *Endpoint) mayRepeat(now time.Time, number uint64) {
	if e.rare == nil {
		return
	}
	s := &e.survey
	if s.known.IsZero() || now.Sub(s.known) >= tripEvery && (!s.flying || now.Sub(s.sent) >= tripEvery) {
		if e.isProbe(number) {
			return
		}
		s.flying, s.number, s.known = false, number, now
	}
}

// isProbe reports whether probes have a number: their confirmations are theirs.
func (e *Endpoint) isProbe(number uint64) bool {
	return e.probes != nil && slices.ContainsFunc(e.probes.list[:], func(p probe) bool { return p.state != probeUnused && p.number == number })
}
