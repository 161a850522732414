package stream

import (
	"context"
	"net/netip"
	"time"
)

// Dialed is a client's only stream. A Client is that of TCP and TLS. Its methods are for the goroutine that calls Turn, Close for any
// after that has ended.
type Dialed interface {
	// Start begins to read. It calls wake, from any goroutine, when Turn has something to do: first Opened.
	Start(wake func())

	// Turn is that of Carrier.
	Turn(now time.Time, h Handler)

	// Addr returns the address of the server, LocalAddr that of the client.
	Addr() netip.AddrPort
	LocalAddr() netip.AddrPort

	// Stream returns the stream.
	Stream() Stream

	// Close ends the stream. If Finish was called, it first waits for the server. If ctx ends first, it returns the error of ctx.
	Close(ctx context.Context) error
}

var _ Dialed = (*Client)(nil)
