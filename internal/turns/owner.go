package turns

import "sync"

// Owner is the lock of a core: its loop holds it during a turn, or a visitor does. The zero Owner is
// ready.
type Owner struct {
	mu      sync.Mutex // held by whoever is
	turned  sync.Cond  // on mu: a turn has begun, and whoever waits comes after it
	visited bool       // since the last turn, which has something to do for it
	over    bool       // the last turn has begun
}

// Begin begins a turn of the loop, and waits for a visitor to leave. After the last turn there are
// no more visitors; it does what they had left to do.
func (o *Owner) Begin(last bool) {
	o.mu.Lock()
	o.over = last
	if o.visited || last {
		o.visited = false
		o.turned.Broadcast()
	}
}

// End ends the turn.
func (o *Owner) End() { o.mu.Unlock() }

// Visit runs fn between two turns, and waits for a turn under way. fn reports whether all its work
// is done. If not, a second visitor waits for the turn that does it, so that unfinished work cannot
// pile up. Visit returns false when the loop has ended, and then fn has not run. Neither the loop
// nor fn may call it.
func (o *Owner) Visit(fn func() (done bool)) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turned.L == nil { // once: others who wait look at it without the lock
		o.turned.L = &o.mu
	}
	for o.visited && !o.over {
		o.turned.Wait()
	}
	if o.over {
		return false
	}
	o.visited = !fn()
	return true
}
