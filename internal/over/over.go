// Package over is how a client of any dialect is told to run over what is open already, in place of sockets of its own: a session of
// WebSocket or WebTransport.
package over

import (
	"context"

	"parley/internal/datagram"
	"parley/internal/stream"
)

// Carriers are what carries a client's bytes in place of its dialect's own sockets. The client owns it from now on, and its peer is the server.
type Carriers struct {
	Datagrams datagram.Carrier // nil for none
	Main      stream.Dialed    // of dialects over a stream
}

type key struct{}

// With returns a context with which a dialect's Dial has a client use what is open already, and leaves the address to its errors. It is
// a value of the context, as the dialects' own functions name no type of ours.
func With(ctx context.Context, c Carriers) context.Context {
	return context.WithValue(ctx, key{}, &c)
}

// Of returns what With has put into a context, nil if it has not.
func Of(ctx context.Context) *Carriers {
	c, _ := ctx.Value(key{}).(*Carriers)
	return c
}
