package realm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"net"
	"net/netip"
	"strings"
	"time"

	"parley/internal/datagram"
	"parley/internal/over"
	"parley/internal/shell"
	"parley/internal/stream"
	"parley/protocol/realm/core"
)

// ErrFingerprint means that the server's certificate is not the pinned one.
var ErrFingerprint = errors.New("realm: the server's certificate is not the pinned one")

// Client is a connection to one server. Its methods may be called by any goroutine.
type Client struct {
	core  *clientCore // owned by the loop
	shell *shell.Client[sized]
}

// Dial connects to a server at addr, written host:port, and returns when both sides have
// agreed on the version of the protocol. If the server refuses, the error is a Close.
func Dial(ctx context.Context, addr string, c Config) (*Client, error) {
	if open := over.Of(ctx); open != nil { // which has encrypted the stream if it is to be. The time of the log-in has to do
		return dial(ctx, open.Main, datagram.NewSilent(open.Main.LocalAddr(), open.Main.Addr()), c)
	}
	var secure *tls.Config
	if !c.Plain {
		secure = c.trust(addr)
	}
	main, err := stream.Dial(ctx, net.Dialer{Deadline: shell.AnswerBy(ctx)}, addr, secure, c.Linger)
	if err != nil {
		return nil, fmt.Errorf("realm: dial %s: %w", addr, err)
	}
	return dial(ctx, main, c.carrier(main), c)
}

func dial(ctx context.Context, main stream.Dialed, carrier datagram.Carrier, c Config) (*Client, error) {
	x := &Client{core: newClientCore(main, carrier, c)}
	main.Start(carrier.Wake)
	var err error
	x.shell, err = shell.Dial(ctx, carrier, x.core, shell.ClientConfig[sized]{
		Name: "realm", Log: c.Log, Kind: kind, First: uint8(EventOpened), Final: uint8(EventClosed),
		Own: func(ev sized) sized { return ev }, Size: func(ev sized) int { return ev.bytes }, Last: last,
	})
	if err != nil {
		_ = main.Close(ctx) // Dial has failed before
		return nil, err
	}
	return x, nil
}

func (c *Config) trust(addr string) *tls.Config {
	own := new(tls.Config)
	if c.TLS != nil {
		own = c.TLS.Clone()
	}
	own.MinVersion = max(own.MinVersion, tls.VersionTLS12)
	if own.ServerName == "" {
		own.ServerName, _, _ = net.SplitHostPort(addr)
	}
	if pinned := strings.ToLower(strings.ReplaceAll(c.Fingerprint, ":", "")); pinned != "" {
		own.InsecureSkipVerify = true // what is pinned is known better than by any authority
		own.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || stream.Fingerprint(state.PeerCertificates[0].Raw) != pinned {
				return ErrFingerprint
			}
			return nil
		}
	}
	return own
}

// Codec returns the codec of the schema, for making messages.
func (c *Client) Codec() *core.Codec { return c.core.Codec() }

// Register asks for an account and waits for the answer. The error is ErrState, or that of the
// connection or of ctx.
func (c *Client) Register(ctx context.Context, name, password string) (core.RegisterCode, error) {
	return ask(ctx, c, &c.core.registers, func(now time.Time) error { return c.core.Register(now, name, password) })
}

// Login logs in and waits for the answer. After LoginOK, Events yields the events of the game.
// The error is ErrState, or that of the connection or of ctx.
func (c *Client) Login(ctx context.Context, name, password string) (core.LoginCode, error) {
	return ask(ctx, c, &c.core.logins, func(now time.Time) error { return c.core.Login(now, name, password) })
}

// ask sends a question and waits for the answer. waiting are the calls before, which get theirs first.
func ask[T any](ctx context.Context, c *Client, waiting *[]chan T, send func(now time.Time) error) (answer T, err error) {
	wait := make(chan T, 1)
	err = c.do(func(now time.Time) error {
		err := send(now)
		if err == nil {
			*waiting = append(*waiting, wait)
		}
		return err
	})
	if err != nil {
		return answer, err
	}
	select {
	case answer = <-wait:
		return answer, nil
	case <-ctx.Done():
		return answer, fmt.Errorf("realm: %w", ctx.Err())
	case <-c.shell.Over():
	}
	select {
	case answer = <-wait: // it came before the end
		return answer, nil
	default:
		return answer, c.Err()
	}
}

// Send sends one of a player's messages. See core.Endpoint.Send.
func (c *Client) Send(m *core.Message) error {
	own := *m
	return c.do(func(now time.Time) error { return c.core.Send(now, &own) })
}

// Say sends a line of chat.
func (c *Client) Say(text string) error {
	return c.Send(&core.Message{Kind: core.KindChatSend, Text: []byte(text)})
}

// Update sends the client's values of an entity.
func (c *Client) Update(e core.Entity) error {
	return c.Send(&core.Message{Kind: core.KindEntityUpdate, Entity: e})
}

// Act sends an action.
func (c *Client) Act(a core.Action) error {
	return c.Send(&core.Message{Kind: core.KindActionDo, Action: a})
}

// Want asks for chunks of the terrain, at most core.MaxWanted.
func (c *Client) Want(chunks ...core.ChunkID) error {
	wanted, err := core.MakeWanted(chunks...)
	if err != nil {
		return err
	}
	return c.Send(&core.Message{Kind: core.KindTerrainRequest, Wanted: wanted})
}

// Temporary returns an id for an entity that an action will create. See core.Endpoint.Temporary.
func (c *Client) Temporary() (id uint16, ok bool) {
	c.shell.Ask(func(time.Time) { id, ok = c.core.Temporary() })
	return id, ok
}

// ReleaseTemporary gives back an id that Temporary returned.
func (c *Client) ReleaseTemporary(id uint16) {
	c.shell.Ask(func(time.Time) { c.core.ReleaseTemporary(id) })
}

// ServerTime returns the client's estimate of the server's clock now, in Unix µs, and the
// greatest possible error of the estimate. Before the time server has answered, the error is
// not bounded.
func (c *Client) ServerTime() (unix uint64, within time.Duration) {
	c.shell.Ask(func(now time.Time) { unix, within = c.core.ServerTime(now), c.core.Clock().ErrorBound(now) })
	return unix, within
}

// ServerTick returns the client's estimate of the server's tick now.
func (c *Client) ServerTick() (tick uint64) {
	c.shell.Ask(func(now time.Time) { tick = c.core.ServerTick(now) })
	return tick
}

// ServerTickPart is ServerTick with how much of that tick has passed, for a client that draws between ticks.
func (c *Client) ServerTickPart() (tick uint64, part float64) {
	c.shell.Ask(func(now time.Time) { tick, part = c.core.ServerTickPart(now) })
	return tick, part
}

// Stats returns the counters. It works after Close, too.
func (c *Client) Stats() (s core.Stats) {
	c.shell.Ask(func(time.Time) { s = c.core.Stats() })
	return s
}

// LocalAddr returns the client's address.
func (c *Client) LocalAddr() netip.AddrPort { return c.core.main.LocalAddr() }

// Err returns the reason why the connection ended, as a Close, or nil if it has not ended. The
// connection may end before Events has yielded all events.
func (c *Client) Err() error { return c.shell.Err() }

// Events yields events of the game and waits for more. The last is EventClosed. Events own
// their bytes. A reader that stops early may call Events again. If several goroutines call
// Events, each event goes to one of them.
//
// While nobody reads, events wait in a bounded queue of the client. Once it is full, bytes wait
// in the socket and at the server. When too many wait there, the server drops the client.
func (c *Client) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for ev := range c.shell.Events() {
			if !yield(ev.Event) {
				return
			}
		}
	}
}

// Close ends the connection: it says goodbye and returns when the server has closed too, at
// most after Config.Linger. If ctx ends first, it returns the error of ctx. After Close, Events
// yields the events that are left and ends. Close every client, even if its connection has
// already ended.
func (c *Client) Close(ctx context.Context) error {
	err := c.shell.Close(ctx)
	if late := c.core.main.Close(ctx); err == nil && late != nil {
		err = fmt.Errorf("realm: close: %w", late)
	}
	return err
}

// do runs fn on the loop.
func (c *Client) do(fn func(now time.Time) error) error {
	err := ErrClosed
	_ = c.shell.Do(func(now time.Time) { err = fn(now) }) // if it fails, fn has not run
	return err
}

// sized is an event with the number of bytes that it holds.
type sized struct {
	Event
	bytes int
}

func kind(ev sized) uint8 { return uint8(ev.Kind) }

// last is the event that ends all: a Close is the endpoint's, all else a failure of the socket.
func last(why error) sized {
	ev := Event{Kind: EventClosed}
	if !errors.As(why, &ev.Close) && why != nil {
		ev.Close = Close{Reason: core.ReasonStream, Text: why.Error()}
	}
	return sized{Event: ev}
}
