package client

import "time"

// toil is how long a client computes. It belongs to who holds the client's lock.
type toil struct {
	began time.Time     // the present work
	ended time.Time     // the work before
	spent time.Duration // what was computed until then, less rest
	rest  time.Time     // until then nothing is predicted
}

func (t *toil) begin(now time.Time) {
	t.began = now
	if !t.ended.IsZero() {
		t.spent = max(0, t.spent-now.Sub(t.ended)/2)
	}
}

func (t *toil) end(now time.Time) {
	t.spent += now.Sub(t.began)
	t.ended = now
}

// isBusy reports whether there is no time to predict.
func (t *toil) isBusy(now time.Time) bool {
	if now.Before(t.rest) {
		return true
	}
	work := t.spent + now.Sub(t.began)
	if work <= maxToil {
		return false
	}
	t.rest = now.Add(min(restTimes*work, maxRest))
	t.spent, t.began = 0, now
	return true
}

// lock takes the client's lock, to have the core do something.
func (c *Client) lock() {
	c.mu.Lock()
	c.toil.begin(time.Now())
}

func (c *Client) unlock() {
	c.toil.end(time.Now())
	c.mu.Unlock()
}
