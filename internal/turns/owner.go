package turns

import "sync"

// Owner says who is at a core: its loop during a turn, or a visitor. The zero Owner is ready.
type Owner struct {
	mu      sync.Mutex // held by whoever is
	turned  sync.Cond  // on mu: a turn has begun, and whoever waits comes after it
	visited bool       // since the last turn, which has something to do for it
	over    bool       // the last turn has begun
}

// Begin begins a turn of the loop, and waits for a visitor to leave. After the last one nobody
// comes any more: what visitors had to say is done in it.
func (o *Owner) Begin(last bool) {
	o.mu.Lock()
	o.over = last
	if o.visited || last {
		o.visited = false
		o.turned.Broadcast()
	}
}

// End ends it.
func (o *Owner) End() { o.mu.Unlock() }

// Visit runs fn between two turns, and waits for one that is under way. fn reports whether all
// that it had to say is done; if not, a second visitor waits for the turn that does it, so
// that nobody can pile up what is never done. Visit reports false when the loop is over, and then fn
// was not run. Neither the loop nor fn may call it.
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
