package stamp

import (
	"bytes"
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
	"parley/protocol/stamp/core"
)

// Client is a connection to one server. It only watches: the protocol has no
// message for a client's data. Its methods may be called by any goroutine.
type Client struct {
	endpoint *core.Endpoint // owned by the loop
	shell    *shell.Client[Event]
}

// Dial connects to a server at addr, written host:port, and returns when the handshake is done. If the
// server refuses, the error is a Close:
//
//	var refused stamp.Close
//	if errors.As(err, &refused) { … refused.Text … }
//
// If ctx ends first, Dial returns the error of ctx.
func Dial(ctx context.Context, addr string, c Config) (*Client, error) {
	if open := over.Of(ctx); open != nil {
		return dial(ctx, open.Datagrams, c)
	}
	peer, err := shell.Resolve(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("stamp: dial %s: %w", addr, err)
	}
	socket, err := udp.Dial(peer, udp.Config{Batch: shell.ClientBatch})
	if err != nil {
		return nil, fmt.Errorf("stamp: %w", err)
	}
	return dial(ctx, socket, c)
}

func dial(ctx context.Context, carrier datagram.Carrier, c Config) (*Client, error) {
	x := &Client{endpoint: core.NewClient(time.Now(), carrier.RemoteAddr(), c, &core.Shared{Rand: shell.Rand()})}
	var err error
	x.shell, err = shell.Dial(ctx, carrier, x.endpoint, shell.ClientConfig[Event]{
		Name: "stamp", Log: c.Log, Kind: kind, First: uint8(EventConnected), Final: uint8(EventClosed), Own: owned, Size: size, Last: last,
		Heard: func() bool { return x.endpoint.Stats().In > 0 },
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Events yields events and waits for more: all kinds but EventConnected, which Dial has waited for. The
// last is EventClosed. Events own their bytes. A reader that stops early may call Events again. If
// several goroutines call Events, each event goes to one of them.
//
// While nobody reads, events wait in a bounded queue of the client, then in the engine. Once both are
// full, packets are refused: the server sends its reliable packets again and gives up after 10 resends,
// which take 10 to 20 s, or after a Timeout that is longer. Close drops the events that still wait in the engine.
func (c *Client) Events() iter.Seq[Event] { return c.shell.Events() }

// Err returns the reason why the connection ended, as a Close, or nil if it has not ended. The connection
// may end before Events has yielded all events.
func (c *Client) Err() error { return c.shell.Err() }

// Close ends the connection: it sends the goodbye and waits until that is acknowledged, at most for
// Config.Linger. If ctx ends first, it returns the error of ctx. After Close, Events yields the events
// that are left and ends. Close every client, even if its connection has already ended.
func (c *Client) Close(ctx context.Context) error { return c.shell.Close(ctx) }

// Stats returns the counters. It works after Close, too.
func (c *Client) Stats() (s Stats) {
	c.shell.Ask(func(time.Time) { s = c.endpoint.Stats() })
	return s
}

// RTT returns the shortest recent round-trip time.
func (c *Client) RTT() (d time.Duration) {
	c.shell.Ask(func(time.Time) { d = c.endpoint.RTT() })
	return d
}

// ServerTime returns the client's estimate of the server's clock now, in µs, and the greatest possible
// error of the estimate.
func (c *Client) ServerTime() (t uint64, within time.Duration) {
	c.shell.Ask(func(now time.Time) { t, within = c.endpoint.ServerTime(now), c.endpoint.ClockError(now) })
	return t, within
}

// LocalAddr returns the client's address.
func (c *Client) LocalAddr() netip.AddrPort { return c.shell.LocalAddr() }

func kind(ev Event) uint8 { return uint8(ev.Kind) }

// owned returns an event with bytes of its own.
func owned(ev Event) Event {
	ev.Data = bytes.Clone(ev.Data)
	return ev
}

func size(ev Event) int { return len(ev.Data) }

// last is the event that ends all: a Close is the endpoint's, all else a failure of the
// socket.
func last(why error) Event {
	ev := Event{Kind: EventClosed}
	if !errors.As(why, &ev.Close) && why != nil {
		ev.Close = Close{Reason: core.ReasonSocket, Text: why.Error()}
	}
	return ev
}
