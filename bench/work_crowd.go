package main

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// W3: many clients, 32 bytes up and 200 down at 20 Hz.
var crowdWork = work{
	name: "W3", title: "W3: clients that each send 32 bytes and get 200, 20 times a second",
	cases: []string{"1000", "4000"}, quick: []string{"1000"}, lanes: 1,
	columns: []column{
		{"cpu", "server CPU %", 1}, {"each", "µs/exchange", 2}, {"kernel", "kernel %", 0}, {"resident", "KiB/client", 1}, {"own", "Go's own", 1},
		{"p50", "p50 ms", 2}, {"p99", "p99 ms", 2}, {"delivered", "delivered %", 2},
	},
	takes: func(p Peer) bool { return p.Crowd },
	once:  crowdOnce,
}

const (
	crowdUp    = 32
	crowdDown  = 200
	crowdEvery = 50 * time.Millisecond
)

type crowdWith struct {
	Peer    string         `json:"peer"`
	Addr    netip.AddrPort `json:"addr"`
	Clients int            `json:"clients"`
	Size    int            `json:"size"`
	Every   time.Duration  `json:"every"`
	For     time.Duration  `json:"for"`
	Listen  bool           `json:"listen"` // and send nothing
}

type crowded struct {
	Sent int           `json:"sent"`
	Took time.Duration `json:"took"` // what was meant to take For
	tally
}

func crowdOnce(o *options, p Peer, kase string, round int) (map[string]float64, error) {
	length := 8 * time.Second
	if o.quick {
		length = 2 * time.Second
	}
	var all family
	defer func() { all.stop() }()
	server, err := all.add(p, "server")
	if err != nil {
		return nil, err
	}
	client, err := all.add(p, "client")
	if err != nil {
		return nil, err
	}
	w := crowdWith{Peer: p.Name, Size: crowdUp, Every: crowdEvery, Listen: p.Down}
	if _, err := fmt.Sscan(kase, &w.Clients); err != nil {
		return nil, err
	}
	if err := server.ask("listen", serveWith{Peer: p.Name, Answer: answerSize, Bytes: crowdDown}, &w.Addr); err != nil {
		return nil, err
	}
	// Memory is what the clients add to a server that has served some already: its
	// buffers are then there and were used.
	few := w
	few.Clients = w.Clients / 10
	if _, err := gatherAndRun(server, client, few, 300*time.Millisecond); err != nil {
		return nil, err
	}
	var some, full memory
	if err := server.ask("memory", nil, &some); err != nil {
		return nil, err
	}
	if _, err := gatherAndRun(server, client, w, time.Second); err != nil {
		return nil, err
	}
	stop, err := o.profileOf(server, p, "W3", kase, round)
	if err != nil {
		return nil, err
	}
	var before, after cpu
	if err := server.ask("cpu", nil, &before); err != nil {
		return nil, err
	}
	r, err := runBoth(server, client, w, length)
	if err != nil {
		return nil, err
	}
	if err := server.ask("cpu", nil, &after); err != nil {
		return nil, err
	}
	if err := stop(); err != nil {
		return nil, err
	}
	if err := server.ask("memory", nil, &full); err != nil {
		return nil, err
	}
	used, added := after.since(before), float64(w.Clients-few.Clients)
	slices.Sort(r.Late)
	return map[string]float64{
		"cpu": 100 * used.all().Seconds() / r.Took.Seconds(), "each": used.all().Seconds() * 1e6 / float64(r.Sent), "kernel": 100 * used.kernel(),
		"resident": float64(full.Resident-some.Resident) / 1024 / added, "own": float64(full.Own-some.Own) / 1024 / added,
		"p50": millis(quantile(r.Late, .5)), "p99": millis(quantile(r.Late, .99)), "delivered": 100 * float64(r.Got) / float64(r.Sent),
	}, nil
}

// gatherAndRun has clients come until there are enough, and warms up.
func gatherAndRun(server, client *child, w crowdWith, length time.Duration) (crowded, error) {
	if err := client.ask("gather", w, nil); err != nil {
		return crowded{}, err
	}
	return runBoth(server, client, w, length)
}

// runBoth has clients send, or the server if messages go down only, for a while.
func runBoth(server, client *child, w crowdWith, length time.Duration) (r crowded, err error) {
	w.For = length
	if !w.Listen {
		err := client.ask("crowd", w, &r)
		return r, err
	}
	w.For += 300 * time.Millisecond
	done := make(chan error, 1)
	go func() { done <- client.ask("crowd", w, &r) }()
	var sent pushed
	err = server.ask("push", pushWith{Every: w.Every, For: length}, &sent)
	if err := <-done; err != nil {
		return r, err
	}
	r.Sent, r.Took = sent.Sent, sent.Took
	return r, err
}

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
	room := make(chan struct{}, joining)
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
	c.harvest()
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
	if err := c.rest(time.Second, r.Sent); err != nil {
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

// send has client i send. A message for which there is no room is lost.
func (c *crowd) send(i int, b []byte) error {
	if c.swarm != nil {
		return c.swarm.send(i, b)
	}
	if err := c.links[i].Send(b); err != nil && err != errBusy {
		return fmt.Errorf("client %d: %w", i, err)
	}
	return nil
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

// harvest returns what came since the last time.
func (c *crowd) harvest() tally {
	if c.swarm != nil {
		return c.swarm.harvest()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.sum
	c.sum = tally{}
	return t
}
