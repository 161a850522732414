package call

import (
	"context"

	"github.com/coder/websocket"
)

// dialWebSocket has the browser open a WebSocket. It says nothing of why it could not.
func dialWebSocket(ctx context.Context, t Target) (*Session, error) {
	scheme := "ws"
	if t.Secure {
		scheme = "wss"
	}
	conn, _, err := websocket.Dial(ctx, scheme+"://"+t.Host+t.path(), nil)
	if err != nil {
		return nil, &unreachable{err}
	}
	s := openWebSocket(t, conn)
	s.local, s.remote = madeUp(WebSocket), madeUp(WebSocket)
	return s, nil
}
