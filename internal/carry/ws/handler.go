package ws

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"parley/internal/carry"
	"parley/internal/stream"
	"parley/internal/way"
)

// Path is where a dialect's WebSocket is: its name follows.
const Path = "/ws/"

// streamed are the dialects whose bytes are a stream.
var streamed = map[string]bool{"duplex": true, "realm": true}

// Server brings clients over WebSocket to the halls of a building.
type Server struct {
	building *carry.Building
	group    sync.WaitGroup
	poller   poller
	patience time.Duration // as shaken has it; a field, so that tests need not wait
	apart    bool          // each connection has a goroutine of its own: for tests
}

// NewServer returns a server.
func NewServer(b *carry.Building) *Server {
	return &Server{building: b, patience: writeTime}
}

// Wait waits for the goroutines of sessions. They end when the servers of their dialects are closed.
func (s *Server) Wait() { s.group.Wait() }

// Serve answers a request for Path. from is the client's true address. secure says that nobody on the way can read the bytes: TLS, or loopback.
// It returns when the handshake is over.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, from netip.AddrPort, secure bool) {
	dialect := strings.TrimPrefix(r.URL.Path, Path)
	hall := s.building.Find(dialect)
	switch {
	case hall == nil:
		http.Error(w, "no such dialect is served here", http.StatusNotFound)
		return
	case dialect == "realm" && !secure:
		http.Error(w, "realm has passwords: come over wss", http.StatusForbidden)
		return
	}
	if err := hall.MayOpen(from.Addr()); err != nil {
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	c, err := shake(w, r)
	if err != nil {
		hall.Forgo(from.Addr())
		return // the client was told
	}
	c.patience = s.patience
	if streamed[dialect] {
		if _, err := hall.OpenStream(carry.Opening{Source: from, Kind: way.WebSocket, Admitted: true}, newPipe(c)); err != nil {
			refuse(c, err)
		}
		return
	}
	x := newConn()
	session, err := hall.Open(carry.Opening{Source: from, Kind: way.WebSocket, Admitted: true, Ready: x.ready, End: x.end})
	if err != nil {
		refuse(c, err)
		return
	}
	x.start(s.wire(c), session)
}

// wire returns what is below a new connection: a shared one, if there is one for it.
func (s *Server) wire(c *shaken) wire {
	if !s.apart {
		if w := s.poller.take(c, s.group.Go); w != nil {
			return w
		}
	}
	return newAlone(c, s.group.Go)
}

// statusOf returns the status with which a session is refused.
func statusOf(err error) int {
	switch {
	case errors.Is(err, carry.ErrHasty):
		return http.StatusTooManyRequests
	case errors.Is(err, carry.ErrBanned):
		return http.StatusForbidden
	}
	return http.StatusServiceUnavailable
}

// shaken is a connection behind its handshake, and what came with it.
type shaken struct {
	net.Conn
	early    []byte
	patience time.Duration // how long a write may wait for the peer to take something
}

// base returns the connection that carries it, which is another with TLS.
func (s *shaken) base() net.Conn {
	if tls, ok := s.Conn.(interface{ NetConn() net.Conn }); ok {
		return tls.NetConn()
	}
	return s.Conn
}

// Read reads what came with the handshake first.
func (s *shaken) Read(b []byte) (int, error) {
	if len(s.early) > 0 {
		n := copy(b, s.early)
		s.early = s.early[n:]
		return n, nil
	}
	return s.Conn.Read(b)
}

// writeAll writes all, as long as the peer takes something.
func (s *shaken) writeAll(b []byte) error {
	for len(b) > 0 {
		s.SetWriteDeadline(time.Now().Add(s.patience))
		n, err := s.Write(b)
		if b = b[n:]; err != nil && (n == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return err
		}
	}
	return nil
}

// shake does the handshake. What follows it is read and written by this package.
func shake(w http.ResponseWriter, r *http.Request) (*shaken, error) {
	x := &hijacker{ResponseWriter: w}
	theirs, err := websocket.Accept(x, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled}) // the origin was checked
	if theirs != nil {
		theirs.CloseNow() // over the connection that does nothing: without this, its finalizer would keep it for ever
	}
	if err != nil || x.conn == nil {
		if x.conn != nil {
			x.conn.Close()
		}
		return nil, errors.Join(err, errNoConn)
	}
	x.conn.SetDeadline(time.Time{})
	s := &shaken{Conn: x.conn}
	if tcp, ok := s.base().(*net.TCPConn); ok {
		stream.Bound(tcp)
	}
	if n := x.buffered.Reader.Buffered(); n > 0 {
		b, _ := x.buffered.Reader.Peek(n)
		s.early = append(s.early, b...)
	}
	return s, nil
}

var errNoConn = errors.New("ws: no handshake")

// hijacker keeps the connection for us, and gives the handshake's own end one that does nothing.
type hijacker struct {
	http.ResponseWriter
	conn     net.Conn
	buffered *bufio.ReadWriter
}

// Unwrap is for http.ResponseController.
func (h *hijacker) Unwrap() http.ResponseWriter { return nil }

// Hijack is that of http.Hijacker.
func (h *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn, h.buffered = conn, buffered
	idle, other := net.Pipe()
	other.Close()
	return idle, bufio.NewReadWriter(bufio.NewReader(idle), bufio.NewWriter(idle)), nil
}
