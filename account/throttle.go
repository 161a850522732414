package account

import "time"

// A verdict says whether a try may be made; the graver ones are the greater.
type verdict uint8

const (
	mayTry   verdict = iota + 1
	mustWait         // there would be too many failures in the last minute if all fail that are under way
	mayNot           // there are
)

// A throttle counts the failures of the last minute by key, for a bounded number of keys. Tries that
// are under way count as failures until they are not, or a thousand could be made at once. A
// throttle with a negative limit lets everything through.
type throttle[K comparable] struct {
	limit  int
	max    int // counts
	epoch  time.Time
	counts map[K]*count[K]

	// oldest and newest are the ends of a list of all counts by their last failure.
	oldest, newest *count[K]
}

// count is what is kept of a key.
type count[K comparable] struct {
	key          K
	failures     []time.Duration // since the epoch, in order, at most limit
	pending      int             // tries under way
	older, newer *count[K]
}

func newThrottle[K comparable](now time.Time, limit int) *throttle[K] {
	size := maxThrottled
	if limit > 0 {
		size = min(size, maxFailuresKept/limit)
	}
	return &throttle[K]{limit: limit, max: size, epoch: now, counts: make(map[K]*count[K])}
}

// check says whether a key may be tried. It changes nothing that can be seen.
func (t *throttle[K]) check(now time.Time, key K) verdict {
	c := t.counts[key]
	if t.limit < 0 || c == nil {
		return mayTry
	}
	c.forget(now.Sub(t.epoch))
	switch {
	case len(c.failures) >= t.limit:
		return mayNot
	case len(c.failures)+c.pending >= t.limit:
		return mustWait
	}
	return mayTry
}

// begin counts a try that check allowed. Each is followed by an end.
func (t *throttle[K]) begin(now time.Time, key K) {
	if t.limit >= 0 {
		t.count(now, key).pending++
	}
}

// end says how a try ended.
func (t *throttle[K]) end(now time.Time, key K, failed bool) {
	c := t.counts[key]
	if t.limit < 0 || c == nil {
		return
	}
	c.pending--
	if failed {
		t.fail(now, key)
	} else if c.forget(now.Sub(t.epoch)); len(c.failures) == 0 && c.pending == 0 {
		t.remove(c)
	}
}

// fail counts a failure.
func (t *throttle[K]) fail(now time.Time, key K) {
	if t.limit < 0 {
		return
	}
	c := t.count(now, key)
	c.forget(now.Sub(t.epoch))
	if len(c.failures) < t.limit {
		c.failures = append(c.failures, now.Sub(t.epoch))
	}
	t.unlink(c)
	t.append(c)
}

// count returns the count of a key and makes one if there is none. The counts that have run out go,
// and if there are still too many, the one whose last failure is the longest ago.
func (t *throttle[K]) count(now time.Time, key K) *count[K] {
	if c := t.counts[key]; c != nil {
		return c
	}
	for c := t.oldest; c != nil; {
		newer := c.newer
		if c.pending == 0 {
			c.forget(now.Sub(t.epoch))
			if len(c.failures) > 0 && len(t.counts) < t.max {
				break
			}
			t.remove(c)
		}
		c = newer
	}
	c := &count[K]{key: key}
	t.counts[key] = c
	t.append(c)
	return c
}

func (t *throttle[K]) remove(c *count[K]) {
	t.unlink(c)
	delete(t.counts, c.key)
}

func (t *throttle[K]) append(c *count[K]) {
	c.older, c.newer = t.newest, nil
	if t.newest == nil {
		t.oldest = c
	} else {
		t.newest.newer = c
	}
	t.newest = c
}

func (t *throttle[K]) unlink(c *count[K]) {
	if c.older == nil {
		t.oldest = c.newer
	} else {
		c.older.newer = c.newer
	}
	if c.newer == nil {
		t.newest = c.older
	} else {
		c.newer.older = c.older
	}
}

// forget drops the failures that are a minute old.
func (c *count[K]) forget(now time.Duration) {
	n := 0
	for n < len(c.failures) && now-c.failures[n] >= throttleSpan {
		n++
	}
	c.failures = append(c.failures[:0], c.failures[n:]...)
}
