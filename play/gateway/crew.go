package gateway

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// crew publishes a tick over all dialects, on as many cores as there are: what each tells its
// players is its own, and the world stands still. The hub itself is one of them, and all of them
// in a hub that does not run.
type crew struct {
	size int           // of those hired
	call chan struct{} // a tick is to be published
	told chan struct{} // it is
	next atomic.Int32  // the dialect that nobody is at
	left atomic.Int32  // how many are not done
}

// hire has others help until the function that it returns is called.
func (h *Hub) hire() (dismiss func()) {
	c := &h.crew
	c.size = min(runtime.GOMAXPROCS(0), len(h.dialects)) - 1
	if c.size <= 0 {
		return func() {}
	}
	c.call, c.told = make(chan struct{}, c.size), make(chan struct{}, 1)
	c.next.Store(int32(len(h.dialects)))
	var wg sync.WaitGroup
	for range c.size {
		wg.Go(func() {
			for range c.call {
				h.help()
			}
		})
	}
	return func() {
		c.size = 0
		close(c.call)
		wg.Wait()
	}
}

// publish has all dialects tell their players what the ticks brought that have run. It is called while all their
// loops stand still, and they send when all is said: what is sent wakes clients, who on a small
// machine would take the cores from a tick that is not done.
func (h *Hub) publish() {
	h.dismiss()
	for _, r := range h.ran {
		r.furnish()
		r.grant()
	}
	c := &h.crew
	if c.size <= 0 {
		for i := range h.dialects {
			h.publishOver(i)
		}
		return
	}
	c.left.Store(int32(len(h.dialects)))
	c.next.Store(0)
	for range c.size {
		select {
		case c.call <- struct{}{}:
		default: // one has not come since the last tick: it helps with this one
		}
	}
	h.help()
	<-c.told
}

// help publishes over dialects that nobody is at. A goroutine that comes late finds none,
// and is not waited for.
func (h *Hub) help() {
	c := &h.crew
	for i := c.next.Add(1) - 1; int(i) < len(h.dialects); i = c.next.Add(1) - 1 {
		h.publishOver(int(i))
		if c.left.Add(-1) == 0 {
			c.told <- struct{}{}
		}
	}
}

// publishOver publishes over a dialect.
func (h *Hub) publishOver(dialect int) {
	for _, r := range h.ran {
		if dialect >= len(r.sides) || r.sides[dialect] == nil || r.sides[dialect].stage == nil {
			continue
		}
		for _, s := range r.sides[dialect].seats {
			s.view.Update()
		}
		r.sides[dialect].stage.publish()
	}
}
