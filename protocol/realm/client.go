package realm

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"parley/internal/shell"
	"parley/internal/stream"
	"parley/protocol/realm/core"
)

// ErrFingerprint means that the server's certificate is not the pinned one.
var ErrFingerprint = errors.New("realm: the server's certificate is not the pinned one")

// Client is a connection to one server. Its methods may be called by any goroutine.
type Client struct {
	codec  *core.Codec
	conn   net.Conn
	log    *slog.Logger
	linger time.Duration
	inbox  inbox
	wake   chan struct{} // for the writer; holds one
	opened chan struct{} // closed when the config has come
	done   chan struct{} // closed when all goroutines have ended
	quit   chan struct{} // closed when the connection is over
	cutter sync.Once

	mu        sync.Mutex
	endpoint  *core.Endpoint
	told      bool // EventOpened came
	over      bool
	registers []chan core.RegisterCode // calls that wait for their answers, in order
	logins    []chan core.LoginCode
}

// Dial connects to a server at addr, written host:port, and returns when both sides have
// agreed on the version of the protocol. If the server refuses, the error is a Close.
func Dial(ctx context.Context, addr string, c Config) (*Client, error) {
	conn, err := c.connect(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("realm: dial %s: %w", addr, err)
	}
	peer := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	peer = netip.AddrPortFrom(peer.Addr().Unmap(), peer.Port())
	x := &Client{
		conn: conn, log: shell.Log(c.Log, "realm", "peer", peer),
		wake: make(chan struct{}, 1), opened: make(chan struct{}), done: make(chan struct{}), quit: make(chan struct{}),
		endpoint: core.NewClient(time.Now(), peer, c.Config, &core.Shared{}),
	}
	x.codec, x.linger = x.endpoint.Codec(), x.endpoint.Config().Linger
	x.inbox.init()
	var group sync.WaitGroup
	group.Go(x.read)
	group.Go(x.write)
	if !c.NoTime {
		group.Go(x.askTime)
	}
	go func() {
		group.Wait()
		close(x.done)
	}()
	select {
	case <-x.opened:
		return x, nil
	case <-x.quit:
		x.cut()
		<-x.done
		return nil, x.Err()
	case <-ctx.Done():
		x.cut()
		<-x.done
		return nil, fmt.Errorf("realm: dial %s: %w", addr, ctx.Err())
	}
}

// connect opens the stream, with TLS unless it is plain.
func (c *Config) connect(ctx context.Context, addr string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil || c.Plain {
		return conn, err
	}
	secured := tls.Client(conn, c.trust(addr))
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
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
func (c *Client) Codec() *core.Codec { return c.codec }

// Register asks for an account and waits for the answer. The error is ErrState, or that of the
// connection or of ctx.
func (c *Client) Register(ctx context.Context, name, password string) (core.RegisterCode, error) {
	wait := make(chan core.RegisterCode, 1)
	err := c.do(func(now time.Time) error {
		err := c.endpoint.Register(now, name, password)
		if err == nil {
			c.registers = append(c.registers, wait)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return await(ctx, c, wait)
}

// Login logs in and waits for the answer. After LoginOK, Events yields the events of the game.
// The error is ErrState, or that of the connection or of ctx.
func (c *Client) Login(ctx context.Context, name, password string) (core.LoginCode, error) {
	wait := make(chan core.LoginCode, 1)
	err := c.do(func(now time.Time) error {
		err := c.endpoint.Login(now, name, password)
		if err == nil {
			c.logins = append(c.logins, wait)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return await(ctx, c, wait)
}

// await waits for an answer.
func await[T any](ctx context.Context, c *Client, wait chan T) (answer T, err error) {
	select {
	case answer = <-wait:
		return answer, nil
	case <-ctx.Done():
		return answer, fmt.Errorf("realm: %w", ctx.Err())
	case <-c.quit:
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
	return c.do(func(now time.Time) error { return c.endpoint.Send(now, &own) })
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
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endpoint.Temporary()
}

// ReleaseTemporary gives back an id that Temporary returned.
func (c *Client) ReleaseTemporary(id uint16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endpoint.ReleaseTemporary(id)
}

// ServerTime returns the client's estimate of the server's clock now, in Unix µs, and the
// greatest possible error of the estimate. Before the time server has answered, the error is
// not bounded.
func (c *Client) ServerTime() (unix uint64, within time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	return c.endpoint.ServerTime(now), c.endpoint.Clock().ErrorBound(now)
}

// ServerTick returns the client's estimate of the server's tick now.
func (c *Client) ServerTick() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endpoint.ServerTick(time.Now())
}

// Stats returns the counters. It works after Close, too.
func (c *Client) Stats() core.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endpoint.Stats()
}

// LocalAddr returns the client's address.
func (c *Client) LocalAddr() netip.AddrPort { return c.conn.LocalAddr().(*net.TCPAddr).AddrPort() }

// Err returns the reason why the connection ended, as a Close, or nil if it has not ended. The
// connection may end before Events has yielded all events.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if why, over := c.endpoint.Over(); over {
		return why
	}
	return nil
}

// Events yields events of the game and waits for more. The last is EventClosed. Events own
// their bytes. A reader that stops early may call Events again. If several goroutines call
// Events, each event goes to one of them.
//
// While nobody reads, events wait in a bounded queue of the client. Once it is full, bytes wait
// in the socket and at the server. When too many wait there, the server drops the client.
func (c *Client) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for ev, ok := c.inbox.next(); ok; ev, ok = c.inbox.next() {
			if !yield(ev) {
				return
			}
		}
		var last Close
		errors.As(c.Err(), &last)
		yield(Event{Kind: EventClosed, Close: last})
	}
}

// Close ends the connection: it says goodbye and returns when the server has closed too, at
// most after Config.Linger. If ctx ends first, it returns the error of ctx. After Close, Events
// yields the events that are left and ends. Close every client, even if its connection has
// already ended.
func (c *Client) Close(ctx context.Context) error {
	_ = c.do(func(now time.Time) error {
		c.endpoint.Close(now, core.ExitClientQuit, "")
		return nil
	})
	c.inbox.close()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		c.cut()
		<-c.done
		return fmt.Errorf("realm: close: %w", ctx.Err())
	}
}

// do calls the endpoint and has the writer look at it.
func (c *Client) do(fn func(now time.Time) error) error {
	c.mu.Lock()
	err := fn(time.Now())
	c.mu.Unlock()
	c.wakeWriter()
	return err
}

func (c *Client) wakeWriter() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
