package replica

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"parley/internal/udp"
)

// Client is an Endpoint at a socket: a connection to one server. Its methods may
// be called by any goroutine.
type Client struct {
	endpoint *Endpoint // owned by the loop, and by mu after its end
	log      *slog.Logger

	// The loop puts events into queue while there is room and else sets stalled,
	// which has the reader wake it.
	queue   chan Event
	bytes   atomic.Int64 // in queue
	stalled atomic.Bool

	connected chan struct{} // closed when the handshake is done
	ended     chan struct{} // closed when the connection is over
	why       Close         // valid then
	over      bool          // the same for the loop

	mu   sync.Mutex
	loop *udp.Loop // set once; under mu for the loop itself, which may be faster
}

// Dial connects to a server at addr, written host:port, and returns when the
// handshake is done. If the server refuses, the error is a Close:
//
//	var refused replica.Close
//	if errors.As(err, &refused) { … refused.Text … }
//
// If ctx ends first, it is ctx's error.
func Dial(ctx context.Context, addr string, c Config) (*Client, error) {
	peer, err := resolve(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("replica: dial %s: %w", addr, err)
	}
	socket, err := udp.Dial(peer, udp.Config{Batch: clientBatch, NoGRO: true})
	if err != nil {
		return nil, fmt.Errorf("replica: %w", err)
	}
	return dial(ctx, socket, c)
}

// resolve turns a host's name into its address, IPv4 first, for as long as ctx
// allows. What is no name is left to the socket, which knows what to say of it.
func resolve(ctx context.Context, addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return addr, nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return addr, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return "", err
	}
	best := found[0]
	for _, ip := range found {
		if ip.Unmap().Is4() {
			best = ip.Unmap()
			break
		}
	}
	return net.JoinHostPort(best.String(), port), nil
}

func dial(ctx context.Context, socket *udp.Socket, c Config) (*Client, error) {
	x := &Client{
		endpoint:  NewClient(time.Now(), socket.RemoteAddr(), c, randomShared()),
		log:       newLog(c.Log, "peer", socket.RemoteAddr()),
		queue:     make(chan Event, maxQueuedEvents),
		connected: make(chan struct{}),
		ended:     make(chan struct{}),
	}
	x.mu.Lock()
	x.loop = udp.StartLoop(socket, x.endpoint, udp.LoopConfig{AfterTurn: x.afterTurn})
	x.mu.Unlock()
	select {
	case <-x.connected:
		return x, nil
	case <-x.ended:
		x.loop.Close()
		return nil, x.why
	case <-x.loop.Done():
		return nil, x.Err()
	case <-ctx.Done():
		x.Close(ctx)
		return nil, fmt.Errorf("replica: dial %s: %w", socket.RemoteAddr(), ctx.Err())
	}
}

// Send sends a message. Nothing is sent if it returns an error, which is
// ErrWindowFull while the server takes too little, ErrMessageSize, ErrName, or
// ErrClosed once the connection is over: Err says why it is.
func (c *Client) Send(mode Mode, name string, data []byte) error {
	err := ErrClosed
	_ = c.loop.Do(func() { err = c.endpoint.Send(time.Now(), mode, name, data) })
	return err
}

// Events yields what happens, and waits for it: messages and all else but
// EventConnected, which Dial has waited for. The last is EventClosed. Events own
// their bytes. Who stops early may call Events again; several goroutines may share
// what comes.
//
// While no one reads, a bounded number of events waits here, then in the engine;
// after that packets are refused, so that the server sends its reliable ones again
// and gives up after some 10 s. What Close finds unread in the engine is dropped.
func (c *Client) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for ev, ok := c.next(); ok; ev, ok = c.next() {
			if !yield(ev) {
				return
			}
		}
		ev := Event{Kind: EventClosed}
		select {
		case <-c.ended:
			ev.Close = c.why
		default: // the socket failed
			if err := c.Err(); err != nil {
				ev.Close.Text = err.Error()
			}
		}
		yield(ev)
	}
}

// next waits for the next event, until there are no more.
func (c *Client) next() (ev Event, ok bool) {
	select {
	case ev = <-c.queue:
	default:
		select {
		case ev = <-c.queue:
		case <-c.loop.Done():
			// The loop has put in all that it will.
			select {
			case ev = <-c.queue:
			default:
				return Event{}, false
			}
		}
	}
	c.bytes.Add(-int64(len(ev.Name) + len(ev.Data)))
	if c.stalled.Load() && len(c.queue) <= maxQueuedEvents/2 && c.bytes.Load() <= maxQueuedEventBytes/2 {
		c.stalled.Store(false)
		c.loop.Wake()
	}
	return ev, true
}

// Err returns why the connection is over, as a Close; or nil while it is not. It
// may be over before Events has yielded all that came.
func (c *Client) Err() error {
	select {
	case <-c.ended:
		return c.why
	default:
	}
	if err := c.loop.Err(); err != nil {
		return fmt.Errorf("replica: %w", err)
	}
	return nil
}

// Close says goodbye when what was sent is acknowledged, and returns when that is
// too. It waits for the linger time each, and no longer than ctx, whose error it
// then returns. After it Events yields what it has, and ends. Every client is to be
// closed, whatever ended it.
func (c *Client) Close(ctx context.Context) error {
	_ = c.loop.Do(func() { c.endpoint.Close(time.Now(), "") })
	var late error
	select {
	case <-c.ended:
	case <-c.loop.Done():
	case <-ctx.Done():
		late = fmt.Errorf("replica: close: %w", ctx.Err())
		_ = c.loop.Do(func() { cut(c.endpoint, time.Now(), "") })
	}
	if err := c.loop.Close(); err != nil {
		return fmt.Errorf("replica: %w", err)
	}
	return late
}

// Do runs fn on the loop and returns when it has run: it is how linking is asked
// for and replicated values are read. fn must not block, and must not call the
// Client. The error is ErrClosed, and then fn has not run.
func (c *Client) Do(fn func(e *Endpoint)) error {
	if c.loop.Do(func() { fn(c.endpoint) }) != nil {
		return ErrClosed
	}
	return nil
}

// Stats returns the counters, also after Close.
func (c *Client) Stats() (s Stats) {
	c.ask(func(e *Endpoint) { s = e.Stats() })
	return s
}

// RTT returns the smoothed round trip.
func (c *Client) RTT() (d time.Duration) {
	c.ask(func(e *Endpoint) { d = e.RTT() })
	return d
}

// ServerTime returns the server's clock now, in µs, as the client knows it.
func (c *Client) ServerTime() (t uint64) {
	c.ask(func(e *Endpoint) { t = e.ServerTime(time.Now()) })
	return t
}

// LocalAddr returns our own address.
func (c *Client) LocalAddr() netip.AddrPort { return c.loop.Socket().LocalAddr() }

// ask runs fn on the loop, or here when the loop has ended.
func (c *Client) ask(fn func(e *Endpoint)) {
	if c.Do(fn) == nil {
		return
	}
	<-c.loop.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(c.endpoint)
}

// afterTurn moves events to the reader, as many as it has room for.
func (c *Client) afterTurn(now time.Time) {
	e := c.endpoint
	if now.After(e.now) {
		e.now = now
	}
	c.noteEnd()
	for c.hasRoom() {
		ev, ok := e.PollEvent()
		if !ok {
			return
		}
		switch ev.Kind {
		case EventConnected:
			c.log.Info("connected")
			close(c.connected)
		case EventClosed:
			c.end(ev.Close)
			c.stop()
			return
		default:
			c.bytes.Add(int64(len(ev.Name) + len(ev.Data)))
			c.queue <- owned(ev)
		}
	}
}

// hasRoom reports whether one more event may be queued. If not, the reader knows
// that it is to wake the loop.
func (c *Client) hasRoom() bool {
	full := func() bool { return len(c.queue) == maxQueuedEvents || c.bytes.Load() >= maxQueuedEventBytes }
	if !full() {
		return true
	}
	c.stalled.Store(true)
	return !full() // the reader may have been here before it could see that
}

// noteEnd looks whether the connection is over, whatever is still unread.
func (c *Client) noteEnd() {
	if c.endpoint.state != StateClosed {
		return
	}
	for _, ev := range c.endpoint.events {
		if ev.Kind == EventClosed {
			c.end(ev.Close)
		}
	}
}

// end tells who waits that the connection is over, once.
func (c *Client) end(why Close) {
	if c.over {
		return
	}
	c.over, c.why = true, why
	c.log.Info("disconnected", "reason", why.Reason, "text", why.Text)
	close(c.ended)
}

// stop ends the loop when all is read.
func (c *Client) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loop.Stop()
}

// owned returns an event with bytes of its own.
func owned(ev Event) Event {
	b := make([]byte, 0, len(ev.Name)+len(ev.Data))
	b = append(append(b, ev.Name...), ev.Data...)
	n := len(ev.Name)
	ev.Name, ev.Data = b[:n:n], b[n:]
	return ev
}
