package replica

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"time"

	"parley/internal/datagram"
	"parley/internal/over"
	"parley/internal/shell"
	"parley/internal/udp"
	"parley/protocol/replica/core"
)

// Client is a connection to one server, on a UDP socket of its own. Its methods may be
// called by any goroutine.
type Client struct {
	endpoint *core.Endpoint // owned by the loop
	shell    *shell.Client[Event]
	bounds   core.Bounds // set before Dial returns, and not changed
}

// Dial connects to a server at addr, written host:port, and returns when the handshake is
// done. If the server refuses, the error is a Close:
//
//	var refused replica.Close
//	if errors.As(err, &refused) { … refused.Text … }
//
// A server that refuses Config.Pass does so later: Err is then a Close with the server's words.
//
// If ctx ends first, Dial returns the error of ctx.
func Dial(ctx context.Context, addr string, c Config) (*Client, error) {
	if open := over.Of(ctx); open != nil {
		return dial(ctx, open.Datagrams, c)
	}
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

func dial(ctx context.Context, carrier datagram.Carrier, c Config) (*Client, error) {
	if len(c.Pass) > core.MaxPassBytes {
		return nil, errors.Join(fmt.Errorf("replica: pass of %d bytes: at most %d are allowed", len(c.Pass), core.MaxPassBytes), carrier.Close())
	}
	x := &Client{endpoint: core.NewClient(time.Now(), carrier.RemoteAddr(), c, &core.Shared{Rand: shell.Rand()})}
	var err error
	x.shell, err = shell.Dial(ctx, carrier, x.endpoint, shell.ClientConfig[Event]{
		Name: "replica", Closed: ErrClosed, Full: ErrWindowFull, Log: c.Log,
		Kind: kind, First: uint8(EventConnected), Final: uint8(EventClosed), Own: owned, Size: size, Last: last,
		Heard: func() bool { return x.endpoint.Stats().In > 0 },
		Send:  x.send, Left: x.endpoint.AwaitMore,
	})
	if err != nil {
		return nil, err
	}
	x.shell.Ask(func(time.Time) { x.bounds = x.endpoint.Bounds() })
	return x, nil
}

// Send queues a message and returns. The messages of one goroutine are sent in the order of
// its calls. If Send returns an error, nothing is sent. The error is ErrWindowFull while too
// much is queued or unacknowledged, ErrMessageSize, core.ErrName, or ErrClosed once the
// connection has ended (Err returns the reason).
func (c *Client) Send(mode Mode, name string, data []byte) error {
	if err := c.bounds.Check(mode, name, data); err != nil {
		return err
	}
	return c.shell.Put(tagOf(mode), name, data)
}

// SendWait is Send, but waits where Send returns ErrWindowFull. If ctx ends first, it returns
// the error of ctx.
func (c *Client) SendWait(ctx context.Context, mode Mode, name string, data []byte) error {
	if err := c.bounds.Check(mode, name, data); err != nil {
		return err
	}
	return c.shell.PutWait(ctx, tagOf(mode), name, data)
}

// SendReserved sends one of parley's own messages, whose names begin with "parley.". A game
// uses Send.
func (c *Client) SendReserved(mode Mode, name string, data []byte) error {
	if err := c.bounds.CheckReserved(mode, name, data); err != nil {
		return err
	}
	return c.shell.Put(tagOf(mode), name, data)
}

// tagOf is how a message waits. Only ordered ones have a place that must be kept.
func tagOf(mode Mode) shell.Tag {
	if mode == Ordered {
		return shell.Tag(mode)
	}
	return shell.Tag(mode) | shell.Passing
}

// send gives the endpoint a message that was checked.
func (c *Client) send(now time.Time, m shell.Message) bool {
	return c.endpoint.Offer(now, Mode(m.Tag&^shell.Passing), m.Name, m.Data)
}

// Link asks the server for its table of entity kinds and variables. EventLinked comes with
// each part of the table. Values then follow as they change.
func (c *Client) Link() error {
	err := ErrClosed
	_ = c.shell.Do(func(now time.Time) { err = c.endpoint.Link(now) })
	return err
}

// Events yields events and waits for more: all kinds but EventConnected, which Dial has
// waited for. The last is EventClosed. Events own their bytes. A reader that stops early
// may call Events again. If several goroutines call Events, each event goes to one of them.
//
// While nobody reads, events wait in a bounded queue of the client, then in the engine. Once
// both are full, packets are refused: the server sends its reliable packets again and gives
// up after 10 to 20 s, or after a Timeout that is longer. Close drops the events that still wait in the engine.
func (c *Client) Events() iter.Seq[Event] { return c.shell.Events() }

// Err returns the reason why the connection ended, as a Close, or nil if it has not ended.
// The connection may end before Events has yielded all events.
func (c *Client) Err() error { return c.shell.Err() }

// Close ends the connection: it waits until sent messages are acknowledged, sends the
// goodbye, and waits until that is acknowledged too. It waits at most Config.Linger. If ctx
// ends first, it returns the error of ctx. After Close, Events yields the events that are
// left and ends. Close every client, even if its connection has already ended.
func (c *Client) Close(ctx context.Context) error { return c.shell.Close(ctx) }

// Do runs fn with the replicated values on the client's loop, and returns when fn has run. fn
// must not block, and must not call the Client. If Do returns ErrClosed, fn has not run.
func (c *Client) Do(fn func(v *Values)) error {
	return c.shell.Do(func(time.Time) { fn(c.endpoint.Values()) })
}

// Stats returns the counters. It works after Close, too.
func (c *Client) Stats() (s Stats) {
	c.shell.Ask(func(time.Time) { s = c.endpoint.Stats() })
	return s
}

// RTT returns the smoothed round-trip time.
func (c *Client) RTT() (d time.Duration) {
	c.shell.Ask(func(time.Time) { d = c.endpoint.RTT() })
	return d
}

// ServerTime returns the client's estimate of the server's clock now, in µs.
func (c *Client) ServerTime() (t uint64) {
	c.shell.Ask(func(now time.Time) { t = c.endpoint.ServerTime(now) })
	return t
}

// LocalAddr returns the client's address.
func (c *Client) LocalAddr() netip.AddrPort { return c.shell.LocalAddr() }

func kind(ev Event) uint8 { return uint8(ev.Kind) }

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
		ev.Close = Close{Reason: core.ReasonSocket, Text: why.Error()}
	}
	return ev
}
