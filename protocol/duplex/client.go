package duplex

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/netip"
	"time"

	"parley/internal/datagram"
	"parley/internal/over"
	"parley/internal/shell"
	"parley/internal/stream"
	"parley/internal/udp"
	"parley/protocol/duplex/core"
)

// busyPause is how long Query waits before it tries again what was ErrBusy.
const busyPause = 50 * time.Millisecond

// Client is a connection to one server. Its methods may be called by any goroutine.
type Client struct {
	core  *clientCore // owned by the loop
	shell *shell.Client[Event]
}

// Dial connects to a server whose main channel is at addr, written host:port. It returns when
// the player is in the game: with a feed, or after Config.FeedWait without one. If the server
// refuses, the error is a Close:
//
//	var refused duplex.Close
//	if errors.As(err, &refused) { … refused.Reason … }
//
// If ctx ends first, Dial returns the error of ctx.
func Dial(ctx context.Context, addr string, c Config) (*Client, error) {
	if open := over.Of(ctx); open != nil {
		return dialOver(ctx, open, c)
	}
	main, err := dialMain(ctx, addr, c.TLS)
	if err != nil {
		return nil, fmt.Errorf("duplex: dial %s: %w", addr, err)
	}
	feed := c.FeedAddr
	if feed == "" {
		feed = main.Addr().String()
	} else if feed, err = shell.Resolve(ctx, feed); err != nil {
		_ = main.Close(ctx) // Dial has failed before
		return nil, fmt.Errorf("duplex: dial %s: %w", c.FeedAddr, err)
	}
	socket, err := udp.Dial(feed, udp.Config{Batch: shell.ClientBatch, NoGRO: true})
	if err != nil {
		_ = main.Close(ctx)
		return nil, fmt.Errorf("duplex: %w", err)
	}
	main.Prompt()
	return dial(ctx, main, socket, c)
}

// dialMain opens main, with TLS if it is wanted.
func dialMain(ctx context.Context, addr string, config *tls.Config) (*stream.Client, error) {
	at, err := shell.Resolve(ctx, addr)
	if err != nil {
		return nil, err
	}
	if config != nil && config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr) // an address that cannot be split is not dialed
	}
	return stream.Dial(ctx, net.Dialer{KeepAliveConfig: tcpKeepAlive, Deadline: shell.AnswerBy(ctx)}, at, config, drainWait)
}

// dialOver joins over what is open already. Without a feed, the client says so to the server at once.
func dialOver(ctx context.Context, open *over.Carriers, c Config) (*Client, error) {
	feed := open.Datagrams
	if feed == nil {
		feed = noFeed{datagram.NewSilent(open.Main.LocalAddr(), open.Main.Addr())}
		c.FeedWait = time.Nanosecond
	}
	return dial(ctx, open.Main, feed, c)
}

// noFeed is the carrier of a client without a feed.
type noFeed struct{ *datagram.Silent }

// NewSendBatch returns a batch whose room the core uses for what goes over main.
func (noFeed) NewSendBatch() *datagram.SendBatch { return datagram.NewSendBatch(1, stream.MaxSend) }

func dial(ctx context.Context, main stream.Dialed, socket datagram.Carrier, c Config) (*Client, error) {
	x := &Client{core: &clientCore{
		Endpoint: core.NewClient(time.Now(), main.Addr(), socket.RemoteAddr(), c, &core.Shared{Rand: shell.Rand()}),
		main:     main,
		line:     main.Stream(),
		wake:     socket.Wake,
		waiting:  map[uint32]chan<- Event{},
	}}
	main.Start(socket.Wake)
	var err error
	x.shell, err = shell.Dial(ctx, socket, x.core, shell.ClientConfig[Event]{
		Name: "duplex", Log: c.Log, Kind: kind, First: uint8(EventJoined), Final: uint8(EventClosed), Own: owned, Size: sizeOf, Last: last,
	})
	if err != nil {
		_ = main.Close(ctx)
		return nil, err
	}
	return x, nil
}

// Player returns the player's id.
func (c *Client) Player() (id int16) {
	c.shell.Ask(func(time.Time) { id = c.core.Player() })
	return id
}

// FeedUp reports whether the feed works. Without it, updates go over main.
func (c *Client) FeedUp() (up bool) {
	c.shell.Ask(func(time.Time) { up = c.core.FeedUp() })
	return up
}

// Update sends the present value of the element sid, as fast as possible. An update may be
// lost, and is never delivered after a newer one.
func (c *Client) Update(sid int16, data []byte) error {
	return c.do(func(now time.Time) error { return c.core.Update(now, sid, data) })
}

// Insist is Update for a value that may be the last for a while, as where a player steers: it is sent again
// after 8 and after 32 ms, unless another one or a query follows, so that a lost datagram costs little. The server is told of each that arrives.
func (c *Client) Insist(sid int16, data []byte) error {
	return c.do(func(now time.Time) error { return c.core.Insist(now, sid, data) })
}

// Sync sends the present value of the element sid, or an event of the game: reliably and in
// order.
func (c *Client) Sync(sid int16, data []byte) error {
	return c.do(func(now time.Time) error { return c.core.Sync(now, sid, data) })
}

// Signal sends a signal of the game.
func (c *Client) Signal(on core.Channel, code uint8) error {
	return c.do(func(now time.Time) error { return c.core.Signal(now, on, code) })
}

// RequestSync asks the server for all elements that the client may see. EventSynced follows
// when they have arrived.
func (c *Client) RequestSync() error { return c.do(c.core.RequestSync) }

// Query sends a query to the server and waits for the reply, until ctx ends. Status 0 is
// success. A reply on main comes after everything sent there before it, so another goroutine
// must read Events meanwhile. The feed takes only idempotent queries. There, a query waits
// until an earlier one of the same code is done. With a ctx that has ended the query is sent, and nobody waits for the reply: the
// error is then that of ctx, and also ErrBusy if it was not sent.
func (c *Client) Query(ctx context.Context, on core.Channel, code uint8, data []byte) (status uint8, reply []byte, err error) {
	wait := make(chan Event, 1)
	var id uint32
	for {
		err := c.do(func(now time.Time) (err error) {
			if id, err = c.core.Query(now, on, code, data); err == nil {
				c.core.waiting[id] = wait
			}
			return err
		})
		if err == nil {
			break
		}
		if !errors.Is(err, ErrBusy) {
			return 0, nil, err
		}
		select {
		case <-ctx.Done():
			return 0, nil, fmt.Errorf("duplex: query %d: %w: %w", code, ErrBusy, ctx.Err())
		case <-c.shell.Over():
			return 0, nil, ErrClosed
		case <-time.After(busyPause):
		}
	}
	select {
	case ev := <-wait:
		return ev.Status, ev.Data, nil
	case <-c.shell.Over():
		select {
		case ev := <-wait: // it came before the end
			return ev.Status, ev.Data, nil
		default:
			return 0, nil, ErrClosed
		}
	case <-ctx.Done():
		_ = c.do(func(now time.Time) error { // if it fails, there is nothing to cancel
			delete(c.core.waiting, id)
			c.core.Cancel(now, id)
			return nil
		})
		return 0, nil, fmt.Errorf("duplex: query %d: %w", code, ctx.Err())
	}
}

// Reply answers a query of the server. id is the ID of its EventQuery.
func (c *Client) Reply(id uint32, status uint8, data []byte) error {
	return c.do(func(now time.Time) error { return c.core.Reply(now, id, status, data) })
}

// Element returns the value of one of the server's elements, as the client knows it.
func (c *Client) Element(sid int16) (data []byte, ok bool) {
	c.shell.Ask(func(time.Time) {
		data, ok = c.core.Element(sid)
		data = bytes.Clone(data)
	})
	return data, ok
}

// Elements returns a copy of all elements that the client knows.
func (c *Client) Elements() map[int16][]byte {
	all := map[int16][]byte{}
	c.shell.Ask(func(time.Time) {
		for sid, data := range c.core.Elements() {
			all[sid] = bytes.Clone(data)
		}
	})
	return all
}

// Events yields events and waits for more: all but EventJoined, which Dial has waited for,
// and EventReply, as Query returns replies. The last is EventClosed. Events own their bytes.
// A reader that stops early may call Events again. If several goroutines call Events, each
// event goes to one of them.
//
// While nobody reads, a bounded number of events waits. Beyond it, main is no longer read,
// and updates are dropped. When 1 MiB waits for this client, the server disconnects it.
func (c *Client) Events() iter.Seq[Event] { return c.shell.Events() }

// Err returns the reason why the connection ended, as a Close, or nil if it has not ended. The
// connection may end before Events has yielded all events.
func (c *Client) Err() error { return c.shell.Err() }

// Close ends the connection when the queue of main is written, or after Config.Linger. If ctx
// ends first, it returns the error of ctx. After Close, Events yields the events that are left
// and ends. Close every client, even if its connection has already ended.
func (c *Client) Close(ctx context.Context) error {
	err := c.shell.Close(ctx)
	_ = c.core.main.Close(ctx) // it has waited long enough
	return err
}

// Stats returns the counters. It works after Close, too.
func (c *Client) Stats() (s core.Stats) {
	c.shell.Ask(func(time.Time) { s = c.core.Stats() })
	return s
}

// LocalAddr returns the client's address on the feed.
func (c *Client) LocalAddr() netip.AddrPort { return c.shell.LocalAddr() }

// do runs fn on the loop.
func (c *Client) do(fn func(now time.Time) error) error {
	err := ErrClosed
	_ = c.shell.Do(func(now time.Time) { err = fn(now) }) // if it fails, fn has not run
	return err
}

func kind(ev Event) uint8 { return uint8(ev.Kind) }

// owned returns an event with bytes of its own.
func owned(ev Event) Event {
	ev.Data = bytes.Clone(ev.Data)
	return ev
}

func sizeOf(ev Event) int { return len(ev.Data) }

// last is the event that ends all: a Close is the endpoint's, all else a failure of the
// feed's socket.
func last(why error) Event {
	ev := Event{Kind: EventClosed}
	if !errors.As(why, &ev.Close) && why != nil {
		ev.Close = Close{Reason: core.ReasonSocket, Text: why.Error()}
	}
	return ev
}
