package turns

import "sync"

// Owner is the lock of a core: its loop holds it during a turn, or a visitor does. The zero Owner is
// ready.
type Owner struct {
	mu      sync.Mutex // held by the present owner
	turned  sync.Cond  // on mu: a turn has begun; waiting visitors come after it
	visited bool       // a visitor has left work for the next turn
	over    bool       // the last turn has begun
}

// Begin begins a turn of the loop, and waits for a visitor to leave. After the last turn there are
// no more visitors. The last turn does the work that they have left.
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

// Visit runs fn between two turns, and waits for the end of the present turn. fn reports whether all
// its work is done. If not, a second visitor waits for the turn that does it, so that unfinished
// work cannot pile up. Visit returns false when the loop has ended, and then fn has not run. Neither
// the loop nor fn may call it.
func (o *Owner) Visit(fn func() (done bool)) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turned.L == nil { // only once: waiting visitors read it without the lock
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
