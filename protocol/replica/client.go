package replica

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"time"

	"parley/internal/shell"
	"parley/internal/udp"
)

// Client is an Endpoint at a socket: a connection to one server. Its methods may
// be called by any goroutine.
type Client struct {
	endpoint *Endpoint // owned by the loop
	shell    *shell.Client[Event]
	bounds   bounds // set before Dial returns, and not changed
}

// Dial connects to a server at addr, written host:port, and returns when the
// handshake is done. If the server refuses, the error is a Close:
//
//	var refused replica.Close
//	if errors.As(err, &refused) { … refused.Text … }
//
// If ctx ends first, it is ctx's error.
func Dial(ctx context.Context, addr string, c Config) (*Client, error) {
	peer, err := shell.Resolve(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("replica: dial %s: %w", addr, err)
	}
	socket, err := udp.Dial(peer, udp.Config{Batch: shell.ClientBatch})
	if err != nil {
		return nil, fmt.Errorf("replica: %w", err)
	}
	return dial(ctx, socket, c)
}

func dial(ctx context.Context, socket *udp.Socket, c Config) (*Client, error) {
	x := &Client{endpoint: NewClient(time.Now(), socket.RemoteAddr(), c, &Shared{Rand: shell.Rand()})}
	var err error
	x.shell, err = shell.Dial(ctx, socket, x.endpoint, shell.ClientConfig[Event]{
		Name: "replica", Log: c.Log, Turn: x.turn, Own: owned, Size: size, Last: last,
		Send: x.send, Left: x.left, HangUp: x.hangUp, Cut: x.cut,
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Send has a message sent and does not wait for that. What one goroutine sends is sent in
// its order, each message in its mode. Nothing is sent if it returns an error, which is
// ErrWindowFull while the server takes too little, ErrMessageSize, ErrName, or
// ErrClosed once the connection is over: Err says why it is.
func (c *Client) Send(mode Mode, name string, data []byte) error {
	if err := c.check(mode, name, data); err != nil {
		return err
	}
	return sendError(c.shell.Put(tagOf(mode), name, data))
}

// SendWait is Send that waits while the server takes too little, until ctx ends, whose
// error it then returns.
func (c *Client) SendWait(ctx context.Context, mode Mode, name string, data []byte) error {
	if err := c.check(mode, name, data); err != nil {
		return err
	}
	return sendError(c.shell.PutWait(ctx, tagOf(mode), name, data))
}

// SendReserved sends a message of this project's own. See Endpoint.SendReserved.
func (c *Client) SendReserved(mode Mode, name string, data []byte) error {
	if err := checkReserved(name); err != nil {
		return err
	}
	if err := c.bounds.check(mode, name, data); err != nil {
		return err
	}
	return sendError(c.shell.Put(tagOf(mode), name, data))
}

func (c *Client) check(mode Mode, name string, data []byte) error {
	if err := checkName(name); err != nil {
		return err
	}
	return c.bounds.check(mode, name, data)
}

// tagOf is how a message waits. Only ordered ones have a place that must be kept.
func tagOf(mode Mode) shell.Tag {
	if mode == Ordered {
		return shell.Tag(mode)
	}
	return shell.Tag(mode) | shell.Passing
}

func sendError(err error) error {
	switch err {
	case shell.ErrFull:
		return ErrWindowFull
	case shell.ErrClosed:
		return ErrClosed
	}
	return err
}

// send gives the endpoint a message that was checked.
func (c *Client) send(now time.Time, m shell.Message) bool {
	return c.endpoint.offer(now, Mode(m.Tag&^shell.Passing), m.Name, m.Data)
}

func (c *Client) left(now time.Time, left bool) { c.endpoint.awaitMore(now, left) }

// Link asks the server for its table of entities, variables and messages; EventLinked
// comes with each piece of it. Values of what is linked follow as they change.
func (c *Client) Link() error {
	err := ErrClosed
	_ = c.shell.Do(func(now time.Time) { err = c.endpoint.Link(now) })
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
func (c *Client) Events() iter.Seq[Event] { return c.shell.Events() }

// Err returns why the connection is over, as a Close; or nil while it is not. It
// may be over before Events has yielded all that came.
func (c *Client) Err() error { return c.shell.Err() }

// Close says goodbye when what was sent is acknowledged, and returns when that is
// too. It waits for the linger time, and no longer than ctx, whose error it then
// returns. After it Events yields what it has, and ends. Every client is to be closed,
// whatever ended it.
func (c *Client) Close(ctx context.Context) error { return c.shell.Close(ctx) }

func (c *Client) hangUp(now time.Time) { c.endpoint.Close(now, "") }
func (c *Client) cut(now time.Time)    { cut(c.endpoint, now, "") }

// Do runs fn on the loop and returns when it has run: it is how replicated values are
// read. fn must not block, and must not call the Client. The error is ErrClosed, and
// then fn has not run.
func (c *Client) Do(fn func(e *Endpoint)) error {
	if c.shell.Do(func(time.Time) { fn(c.endpoint) }) != nil {
		return ErrClosed
	}
	return nil
}

// Stats returns the counters, also after Close.
func (c *Client) Stats() (s Stats) {
	c.shell.Ask(func(time.Time) { s = c.endpoint.Stats() })
	return s
}

// RTT returns the smoothed round trip.
func (c *Client) RTT() (d time.Duration) {
	c.shell.Ask(func(time.Time) { d = c.endpoint.RTT() })
	return d
}

// ServerTime returns the server's clock now, in µs, as the client knows it.
func (c *Client) ServerTime() (t uint64) {
	c.shell.Ask(func(now time.Time) { t = c.endpoint.ServerTime(now) })
	return t
}

// LocalAddr returns our own address.
func (c *Client) LocalAddr() netip.AddrPort { return c.shell.LocalAddr() }

// turn says what an event means to the shell.
func (c *Client) turn(ev Event) shell.Turn {
	switch ev.Kind {
	case EventConnected:
		c.bounds = c.endpoint.bounds()
		return shell.Connected
	case EventClosed:
		return shell.Closed
	}
	return shell.Ordinary
}

// owned returns an event with bytes of its own.
func owned(ev Event) Event {
	b := make([]byte, 0, size(ev))
	b = append(append(b, ev.Name...), ev.Data...)
	n := len(ev.Name)
	ev.Name, ev.Data = b[:n:n], b[n:]
	return ev
}

func size(ev Event) int { return len(ev.Name) + len(ev.Data) }

// last is the event that ends all: a Close is the endpoint's, all else a failure of the
// socket.
func last(why error) Event {
	ev := Event{Kind: EventClosed}
	if !errors.As(why, &ev.Close) && why != nil {
		ev.Close = Close{Reason: ReasonSocket, Text: why.Error()}
	}
	return ev
}
