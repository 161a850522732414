package shell

import (
	"context"

	"parley/internal/datagram"
	"parley/internal/stream"
)

// Over is what carries a client's bytes in place of its dialect's own sockets. The client owns it from now on, and its peer is the server.
type Over struct {
	Datagrams datagram.Carrier // nil for none
	Main      stream.Dialed    // of dialects over a stream
}

type overKey struct{}

// DialOver returns a context with which a dialect's Dial has a client use what is open already, and leaves the address to its errors. It is
// a value of the context, as the dialects' own functions name no type of ours.
func DialOver(ctx context.Context, o Over) context.Context {
	return context.WithValue(ctx, overKey{}, &o)
}

// OverOf returns what DialOver has put into a context, nil if it has not.
func OverOf(ctx context.Context) *Over {
	o, _ := ctx.Value(overKey{}).(*Over)
	return o
}
