package stream

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Client is a connection that was dialed. Its methods are for the goroutine that calls Turn, Close for any after that has
// ended.
type Client struct {
	hub
	conn *Conn
	once sync.Once
}

// Dial connects to a server at addr, written host:port, with TLS if secure is set. Linger is how long Finish waits for the
// server; zero means DefaultLinger.
func Dial(ctx context.Context, dialer net.Dialer, addr string, secure *tls.Config, linger time.Duration) (*Client, error) {
	socket, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	x := new(Client)
	x.init(linger)
	if x.conn, err = newConn(&x.hub, socket.(*net.TCPConn)); err == nil && secure != nil {
		x.conn.tls, x.conn.waits = tls.Client(x.conn, secure), true
		err = x.conn.tls.HandshakeContext(ctx)
	}
	if err != nil {
		socket.Close()
		return nil, err
	}
	x.conns[x.conn] = struct{}{}
	return x, nil
}

// Prompt has all that is read acknowledged at once, on systems that can. By itself a system may wait for an answer that its acknowledgement could go
// along with, or for a second segment. A server that measures its path by acknowledgements, as that of duplex does, takes that for
// a queue. Call it before Start.
func (x *Client) Prompt() { x.conn.prompt = true }

// Start begins to read. It calls wake, from any goroutine, when Turn has something to do: first Opened.
func (x *Client) Start(wake func()) {
	x.wake = wake
	x.mu.Lock()
	defer x.mu.Unlock()
	x.report(x.conn, newsOpened)
}

// Addr returns the address of the server.
func (x *Client) Addr() netip.AddrPort { return x.conn.peer }

// Stream returns the connection.
func (x *Client) Stream() Stream { return x.conn }

// LocalAddr returns the client's own address.
func (x *Client) LocalAddr() netip.AddrPort {
	return x.conn.socket.LocalAddr().(*net.TCPAddr).AddrPort()
}

// Close ends the connection. If Finish was called, it first waits for the server. If ctx ends first, it returns the error of
// ctx.
func (x *Client) Close(ctx context.Context) error {
	x.once.Do(func() {
		if !x.conn.over {
			x.conn.Cut()
		}
		close(x.closed)
	})
	x.mu.Lock()
	gone := x.conn.gone
	x.mu.Unlock()
	if gone {
		x.group.Wait() // its goroutines wait for nobody any more
		return nil
	}
	ended := make(chan struct{})
	go func() {
		x.group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		x.conn.end(net.ErrClosed)
		<-ended
		return ctx.Err()
	}
}
