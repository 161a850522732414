package call

import (
	"context"
	"errors"
)

// dialWebTransport fails: programs in browsers have WebSocket.
func dialWebTransport(context.Context, Target) (*Session, error) {
	return nil, errors.New("call: a program in a browser has no WebTransport here: write ws or wss for wt")
}

// isCutOff is for QUIC, which a browser does not show.
func isCutOff(error) bool { return false }
