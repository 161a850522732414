package call

import (
	"context"
	"errors"
	"io"

	"github.com/coder/websocket"
)

// wsMessages are the messages of a WebSocket.
type wsMessages struct {
	*websocket.Conn
	buf []byte
}

// errText means that a server sends text, which no dialect does.
var errText = errors.New("call: the server sent a text message, which no dialect has")

// errLarge means that a message is larger than any dialect's.
var errLarge = errors.New("call: the server sent a message of more than 64 KiB")

// Receive is that of Messages.
func (m *wsMessages) Receive() ([]byte, error) {
	r, err := nextMessage(m.Conn)
	if err != nil {
		return nil, err
	}
	for n := 0; ; {
		if n == len(m.buf) {
			if n >= maxMessage {
				return nil, errLarge
			}
			m.buf = append(m.buf, make([]byte, max(n, 2*maxDatagram))...)
		}
		k, err := r.Read(m.buf[n:])
		if n += k; err == io.EOF {
			return m.buf[:n], nil
		} else if err != nil {
			return nil, err
		}
	}
}

// nextMessage waits for a message.
func nextMessage(c *websocket.Conn) (io.Reader, error) {
	kind, r, err := c.Reader(context.Background()) // Close and CloseNow end it
	if err == nil && kind != websocket.MessageBinary {
		c.Close(websocket.StatusUnsupportedData, "binary messages only")
		err = errText
	}
	return r, err
}

// Send is that of Messages.
func (m *wsMessages) Send(b []byte) error {
	return m.Conn.Write(context.Background(), websocket.MessageBinary, b)
}

// Close is that of Messages.
func (m *wsMessages) Close() { closeSocket(m.Conn) }

// Cut is that of Messages.
func (m *wsMessages) Cut() { _ = m.Conn.CloseNow() }

// closeSocket says goodbye, and waits for the server's for closeTime.
func closeSocket(c *websocket.Conn) {
	defer afterClose(func() { _ = c.CloseNow() })()
	_ = c.Close(websocket.StatusNormalClosure, "")
}

// wsPipe is a stream whose pieces are the messages of a WebSocket.
type wsPipe struct {
	conn *websocket.Conn
	rest io.Reader // of the message that is being read, nil if it is read
}

// Read is that of Pipe.
func (p *wsPipe) Read(b []byte) (int, error) {
	if p.rest == nil {
		r, err := nextMessage(p.conn)
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		p.rest = r
	}
	n, err := p.rest.Read(b)
	if err == io.EOF {
		p.rest, err = nil, nil
	}
	return n, err
}

// Write is that of Pipe.
func (p *wsPipe) Write(b []byte) (int, error) {
	for n := 0; n < len(b); n += pieceBytes {
		if err := p.conn.Write(context.Background(), websocket.MessageBinary, b[n:min(len(b), n+pieceBytes)]); err != nil {
			return n, err
		}
	}
	return len(b), nil
}

// CloseWrite is that of Pipe. A WebSocket has no half that could be closed: the server reads what came before, and then closes too.
func (p *wsPipe) CloseWrite() error {
	closeSocket(p.conn)
	return nil
}

// Close is that of Pipe.
func (p *wsPipe) Close() error { return p.conn.CloseNow() }

// openWebSocket returns the session of an open WebSocket.
func openWebSocket(t Target, c *websocket.Conn) *Session {
	c.SetReadLimit(maxMessage)
	s := &Session{target: t, largest: maxDatagram}
	if t.hasStream() {
		s.pipe = &wsPipe{conn: c}
	} else {
		s.messages = &wsMessages{Conn: c}
	}
	return s
}
