package shell

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"parley/internal/datagram"
)

// Endpoint is a dialect's client: one connection's state machine.
type Endpoint[E any] interface {
	datagram.Core

	// Advance sets the time before the endpoint is called.
	Advance(now time.Time)

	// PollEvent returns the next event.
	PollEvent() (E, bool)

	// Close says goodbye, and Abort ends the connection at once. Both may be called again.
	Close(now time.Time, text string)
	Abort(now time.Time, text string)

	// Over returns the reason why the connection has ended, if it has. Events may still be waiting for
	// PollEvent.
	Over() (why error, over bool)
}

// ClientConfig holds what a dialect adds to a Client.
type ClientConfig[E any] struct {
	// Name is the dialect's name, with which its errors begin. Closed is the error of calls when the connection
	// has ended, and Full that of Put while too much waits.
	Name         string
	Closed, Full error

	// Log gets a line when the connection begins and when it ends.
	Log *slog.Logger

	// Kind returns the kind of an event. The program gets all kinds but two: First means that the handshake is
	// done, comes at most once, and Dial waits for it. Final means that the endpoint has ended.
	Kind         func(E) uint8
	First, Final uint8

	// Own returns a copy of an event that owns its bytes, and Size returns the number of those bytes.
	Own  func(E) E
	Size func(E) int

	// Last returns the last event. why is the endpoint's reason, or the failure of the carrier.
	Last func(why error) E

	// Send gives the endpoint a message of Put, and reports whether it was taken. If not, it is given again
	// after a later turn. It is nil for clients that do not use Put.
	Send func(now time.Time, m Message) bool

	// Left is called after messages were given to Send, and says whether more of them wait. An endpoint that
	// says goodbye waits for them. Left is set if Send is.
	Left func(now time.Time, left bool)

	// Heard reports whether anything has come from the server: see Answer. It is nil for dialects over a stream, whose server has
	// answered when the stream is open.
	Heard func() bool
}

// Client is a client endpoint with a carrier. Its methods may be called by any goroutine.
type Client[E any] struct {
	cfg      ClientConfig[E]
	endpoint Endpoint[E] // owned by the loop, and by mu after its end
	inbox    inbox[E]
	outbox   outbox

	connected chan struct{} // closed when the handshake is done
	over      chan struct{} // closed when the connection has ended
	why       error         // valid once over is closed
	told      bool          // owned by the loop: over is closed

	mu   sync.Mutex
	loop *datagram.Loop // set once; the loop may run before it is set, so it reads it under mu
}

// Dial starts a client with a carrier, which it owns from now on, and returns when the handshake is done.
func Dial[E any](ctx context.Context, carrier datagram.Carrier, e Endpoint[E], c ClientConfig[E]) (*Client[E], error) {
	x := &Client[E]{
		cfg: c, endpoint: e, inbox: newInbox(c.Size),
		connected: make(chan struct{}),
		over:      make(chan struct{}),
	}
	x.cfg.Log = Log(c.Log, c.Name, "peer", carrier.RemoteAddr())
	x.mu.Lock()
	x.outbox.wake, x.outbox.errClosed, x.outbox.errFull = carrier.Wake, c.Closed, c.Full
	x.loop = datagram.StartLoop(carrier, e, datagram.LoopConfig{AfterTurn: x.afterTurn, Ended: x.ended})
	x.mu.Unlock()
	if err := x.await(ctx); err != nil {
		if isClosed(x.connected) {
			return x, nil // both have come: what the server has told by now is not lost
		}
		gone, cancel := context.WithCancel(ctx)
		cancel()
		x.Close(gone)
		return nil, fmt.Errorf("%s: dial %s: %w", c.Name, carrier.RemoteAddr(), err)
	}
	if isClosed(x.connected) {
		return x, nil // the connection was made, and there may be events to read before its end
	}
	x.loop.Close()
	return nil, x.why
}

// await waits until the handshake is done or the connection has ended. It returns the error of a wait that is over before.
func (c *Client[E]) await(ctx context.Context) error {
	unanswered, stop := c.unanswered(ctx)
	defer stop()
	for {
		select {
		case <-c.connected:
			return nil
		case <-c.over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-unanswered:
			if !c.heard() {
				return ErrNoAnswer
			}
		}
	}
}

// LocalAddr returns the client's address.
func (c *Client[E]) LocalAddr() netip.AddrPort { return c.loop.Carrier().LocalAddr() }

// Loop returns the client's loop.
func (c *Client[E]) Loop() *datagram.Loop { return c.loop }

// Over returns a channel that is closed when the connection has ended. Events may still have events to yield.
func (c *Client[E]) Over() <-chan struct{} { return c.over }

// Queued returns the number of events that wait to be read, and their bytes.
func (c *Client[E]) Queued() (events int, bytes int64) { return c.inbox.queued() }

// Do runs fn on the loop, with the present time, and returns when it has run. If Do returns ClientConfig.Closed,
// fn has not run.
func (c *Client[E]) Do(fn func(now time.Time)) error {
	if !c.do(fn) {
		return c.cfg.Closed
	}
	return nil
}

// do is Do, and reports whether fn has run.
func (c *Client[E]) do(fn func(now time.Time)) bool {
	return c.loop.Do(func() {
		now := time.Now()
		c.endpoint.Advance(now)
		c.drain(now) // messages that were put earlier go first
		fn(now)
	}) == nil
}

// Put queues a message and does not wait for the loop: see ClientConfig.Send. The endpoint gets the messages of
// one goroutine in order, except that messages with the tag Passing may go before others. The name has at most
// 255 bytes. If Put returns an error, nothing is sent. The error is that of ClientConfig: Full or Closed.
// A message that was accepted is sent even if Close is called next.
func (c *Client[E]) Put(tag Tag, name string, data []byte) error {
	return c.outbox.put(tag, name, data)
}

// PutWait is Put, but waits for room. If ctx ends first, it returns the error of ctx.
func (c *Client[E]) PutWait(ctx context.Context, tag Tag, name string, data []byte) error {
	return c.outbox.putWait(ctx, tag, name, data)
}

// Ask runs fn on the loop, or in the calling goroutine when the loop has ended.
func (c *Client[E]) Ask(fn func(now time.Time)) {
	if c.do(fn) {
		return
	}
	<-c.loop.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	fn(time.Now())
}

// Events yields events and waits for more. The last event is that of ClientConfig.Last. Several goroutines may
// share the events.
func (c *Client[E]) Events() iter.Seq[E] {
	return func(yield func(E) bool) {
		for ev, ok := c.inbox.next(c.loop.Done(), c.loop.Wake); ok; ev, ok = c.inbox.next(c.loop.Done(), c.loop.Wake) {
			if !yield(ev) {
				return
			}
		}
		yield(c.cfg.Last(c.Err()))
	}
}

// Err returns the reason why the connection ended, or nil while it has not.
func (c *Client[E]) Err() error {
	if isClosed(c.over) {
		return c.why
	}
	return nil
}

// Close makes the endpoint hang up and returns when the connection has ended. If ctx ends first, the endpoint is
// cut, and Close returns the error of ctx.
func (c *Client[E]) Close(ctx context.Context) error {
	c.outbox.close()
	c.do(func(now time.Time) { // it does not if the client is closed already
		c.endpoint.Close(now, "")
		c.noteOver() // some endpoints are over at once, and then Close is not late
	})
	var late error
	select {
	case <-c.over:
	case <-ctx.Done():
		if !isClosed(c.over) {
			late = fmt.Errorf("%s: close: %w", c.cfg.Name, ctx.Err())
			c.do(func(now time.Time) { c.endpoint.Abort(now, "") })
		}
	}
	if err := c.loop.Close(); err != nil {
		return fmt.Errorf("%s: %w", c.cfg.Name, err)
	}
	return late
}

// afterTurn sends the messages of Put, moves events to the reader, and reports the end of the connection. The
// order matters: a connection that is made and ends in one turn counts as made.
func (c *Client[E]) afterTurn(now time.Time) {
	c.endpoint.Advance(now)
	c.drain(now)
	c.moveEvents()
	c.inbox.show()
	c.noteOver()
}

// drain gives the endpoint the messages of Put.
func (c *Client[E]) drain(now time.Time) {
	if c.outbox.some.Load() {
		c.cfg.Left(now, c.outbox.drain(now, c.cfg.Send))
	}
}

// moveEvents gives the reader as many events as it has room for.
func (c *Client[E]) moveEvents() {
	for c.inbox.hasRoom() {
		ev, ok := c.endpoint.PollEvent()
		if !ok {
			return
		}
		switch c.cfg.Kind(ev) {
		case c.cfg.First:
			c.cfg.Log.Info("connected")
			close(c.connected)
		case c.cfg.Final:
			c.stop()
			return
		default:
			c.inbox.put(c.cfg.Own(ev))
		}
	}
}

// noteOver reports the end of the connection, if it is over.
func (c *Client[E]) noteOver() {
	if why, over := c.endpoint.Over(); over {
		c.tell(why)
	}
}

// ended is called when the loop has ended, also if the carrier failed.
func (c *Client[E]) ended(err error) {
	if err == nil {
		err = datagram.ErrClosed
	}
	c.tell(fmt.Errorf("%s: %w", c.cfg.Name, err))
}

// tell records why the connection is over, and closes over, once.
func (c *Client[E]) tell(why error) {
	if c.told {
		return
	}
	c.told, c.why = true, why
	c.outbox.drop()
	c.cfg.Log.Info("disconnected", "reason", why)
	close(c.over)
}

// stop ends the loop when all events are read.
func (c *Client[E]) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loop.Stop()
}
