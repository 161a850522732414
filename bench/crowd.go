package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// crowd is the clients: light members if the peer has them, else its own.
type crowd struct {
	swarm *swarm
	links []Link

	mu  sync.Mutex
	sum tally // of links
}

// gatherPatience is how long all clients have to connect.
const gatherPatience = 30 * time.Second

// gather connects clients until there are as many as are asked for.
func (c *crowd) gather(p Peer, w crowdWith) (_ any, err error) {
	if p.Join == nil {
		frameBuffer = smallFrameBuffer
		return nil, c.dial(p, w)
	}
	if c.swarm == nil {
		if c.swarm, err = newSwarm(); err != nil {
			return nil, err
		}
	}
	return nil, c.swarm.gather(w.Clients, gatherPatience, func(now time.Time) (Member, error) { return p.Join(now, w.Addr) })
}

// dialling is how many of those clients connect at a time: a server of quic-go refuses those
// who come while 32 wait to be accepted.
const dialling = 16

// dial connects clients that have goroutines of their own, a few at a time.
func (c *crowd) dial(p Peer, w crowdWith) error {
	ctx, cancel := context.WithTimeout(context.Background(), gatherPatience)
	defer cancel()
	take := func(b []byte) {
		now := time.Now()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sum.add(now, b)
	}
	var wg sync.WaitGroup
	room := make(chan struct{}, dialling)
	var failed error
	for i := len(c.links); i < w.Clients && ctx.Err() == nil; i++ {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			l, err := p.Dial(ctx, w.Addr, take)
			c.mu.Lock()
			defer c.mu.Unlock()
			if err != nil {
				failed = fmt.Errorf("client %d: %w", i, err)
				return
			}
			c.links = append(c.links, l)
		})
	}
	wg.Wait()
	if failed == nil && len(c.links) < w.Clients {
		failed = fmt.Errorf("%d of %d clients are connected after %v", len(c.links), w.Clients, gatherPatience)
	}
	return failed
}

// run has each client send each w.Every: each millisecond it is the turn of some of them.
func (c *crowd) run(_ Peer, w crowdWith) (r crowded, err error) {
	if w.Listen {
		err := c.swarm.rest(w.For, func() bool { return false })
		return crowded{tally: c.harvest()}, err
	}
	slots := int(w.Every / time.Millisecond)
	msg := make([]byte, w.Size)
	started := time.Now()
	begin := started
	for ms := range int(w.For / time.Millisecond) {
		due := begin.Add(time.Duration(ms) * time.Millisecond)
		if late := time.Since(due); late > maxLate {
			begin, due = begin.Add(late), due.Add(late)
		}
		if err := c.until(due); err != nil {
			return r, err
		}
		for i := ms % slots; i < w.Clients; i += slots {
			stampNow(msg)
			if err := c.send(i, msg); err != nil {
				return r, err
			}
			r.Sent++
		}
	}
	r.Took = time.Since(started)
	if err := c.rest(w.Patience, r.Sent); err != nil {
		return r, err
	}
	r.tally = c.harvest()
	return r, nil
}

// maxLate is how far the clients may be behind their time and catch up. Real clients do
// not send in one burst what they could not send before, and no socket would hold it.
const maxLate = 5 * time.Millisecond

func (c *crowd) until(due time.Time) error {
	if c.swarm == nil {
		time.Sleep(time.Until(due))
		return nil
	}
	for time.Now().Before(due) {
		if _, err := c.swarm.wait(); err != nil {
			return err
		}
	}
	return nil
}

// send has client i send. What a client with goroutines of its own cannot send, because it has
// no room or its connection is gone, is not delivered.
func (c *crowd) send(i int, b []byte) error {
	if c.swarm != nil {
		return c.swarm.send(i, b)
	}
	_ = c.links[i].Send(b)
	return nil
}

// idle has the clients live while it is not their turn: they confirm what came last, and answer who asks whether they are
// there. Else a server would send again, and after some seconds take them for gone.
func (c *crowd) idle() error {
	if c.swarm == nil {
		return errNothing
	}
	_, err := c.swarm.wait()
	return err
}

// rest waits until so many have come, or long enough.
func (c *crowd) rest(length time.Duration, n int) error {
	if c.swarm != nil {
		return c.swarm.rest(length, func() bool { return c.swarm.sum.Got >= n })
	}
	for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		c.mu.Lock()
		done := c.sum.Got >= n
		c.mu.Unlock()
		if done {
			break
		}
	}
	return nil
}

// harvest returns what was sent and came since the last time.
func (c *crowd) harvest() tally {
	if c.swarm != nil {
		return c.swarm.harvest()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.sum
	c.sum = tally{since: time.Now()}
	return t
}
