package replica

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"parley/internal/admission"
	"parley/internal/udp"
)

// ErrServerClosed: the server was closed, or its socket failed.
var ErrServerClosed = errors.New("replica: server closed")

// Logger is what Config.Log takes.
type Logger = slog.Logger

// goodbye is what clients are told when the server closes. It is short enough
// for a reject.
const goodbye = "server closing"

// Server is a Mux at a socket. One goroutine, the loop, owns the Mux and all its
// connections; it calls the handler. The methods of a Server may be called by any
// other goroutine; those that wait for the loop must not be called by the
// handler, which would wait for itself: Do, Shutdown and Close.
type Server struct {
	mux    *Mux
	loop   *udp.Loop
	socket *udp.Socket
	handle func(c *Conn, ev Event)
	log    *slog.Logger

	leaving bool          // owned by the loop: Shutdown was called
	empty   chan struct{} // closed when the last connection has left since

	mu    sync.Mutex
	stats ServerStats // as of the last turn, without those of loop and socket
}

// ServerStats is what a server did.
type ServerStats struct {
	Conns int // there are now
	MuxStats
	Socket udp.Stats
	Loop   udp.LoopStats
}

// Listen starts a server on addr, written host:port; an empty host is all
// addresses of the machine, and port 0 lets the system choose.
//
// handle is called for every event of every connection, one at a time, on the
// loop: while it runs, no packet moves, so it must not block. It may keep c and
// call c.Send and c.Close whenever it or a function given to Do runs, and at no
// other time. The bytes of ev are valid until it returns. A nil handle ignores
// all events.
func Listen(addr string, c Config, handle func(c *Conn, ev Event)) (*Server, error) {
	socket, err := udp.Listen(addr, udp.Config{})
	if err != nil {
		return nil, fmt.Errorf("replica: %w", err)
	}
	return serve(socket, c, handle), nil
}

func serve(socket *udp.Socket, c Config, handle func(*Conn, Event)) *Server {
	var key admission.Key
	cryptorand.Read(key[:])
	s := &Server{
		mux:    NewMux(time.Now(), c, randomShared(), key),
		socket: socket,
		handle: handle,
		log:    newLog(c.Log, "local", socket.LocalAddr()),
		empty:  make(chan struct{}),
	}
	if handle == nil {
		s.handle = func(*Conn, Event) {}
	}
	s.log.Info("listening")
	s.loop = udp.StartLoop(socket, s.mux, udp.LoopConfig{AfterTurn: s.afterTurn})
	return s
}

// randomShared returns what the endpoints of one loop share, with a random source
// that no one can foresee.
func randomShared() *Shared {
	var seed [32]byte
	cryptorand.Read(seed[:])
	return &Shared{Rand: rand.New(rand.NewChaCha8(seed))}
}

func newLog(l *slog.Logger, side string, addr netip.AddrPort) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.With("proto", "replica", side, addr)
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() netip.AddrPort { return s.socket.LocalAddr() }

// Do runs fn on the loop and returns when it has run: it is how other goroutines
// reach the Mux and its connections. Up to 1,024 calls wait for their turn, and
// further ones for that. fn must not block, and must not call Do. The error is
// ErrServerClosed, and then fn has not run.
func (s *Server) Do(fn func(m *Mux)) error {
	err := s.loop.Do(func() {
		s.mux.Advance(time.Now())
		fn(s.mux)
	})
	if err != nil {
		return ErrServerClosed
	}
	return nil
}

// Stats returns the counters as of the loop's last turn, also after Close.
func (s *Server) Stats() ServerStats {
	s.mu.Lock()
	st := s.stats
	s.mu.Unlock()
	st.Socket, st.Loop = s.socket.Stats(), s.loop.Stats()
	return st
}

// Shutdown tells every client that the server closes, lets no one in, and closes
// the server when the last has acknowledged it or the linger time is over; or
// when ctx ends, which is then the error.
func (s *Server) Shutdown(ctx context.Context) error {
	var late error
	if s.Do(s.leave) == nil {
		select {
		case <-s.empty:
		case <-s.loop.Done():
		case <-ctx.Done():
			late = fmt.Errorf("replica: shutdown: %w", ctx.Err())
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	return late
}

func (s *Server) leave(m *Mux) {
	s.leaving = true
	m.Shutdown(m.now, goodbye)
}

// Close closes the server at once: every client is told, but no one waits for it
// to hear. The handler still gets each connection's EventClosed. The error is
// why the socket failed, if it did. A second call changes nothing.
func (s *Server) Close() error {
	_ = s.Do(s.abort) // fails when it is closed already
	if err := s.loop.Close(); err != nil {
		return fmt.Errorf("replica: %w", err)
	}
	return nil
}

// abort ends all connections. Their disconnects go out with the last turn.
func (s *Server) abort(m *Mux) {
	m.Shutdown(m.now, goodbye)
	for c := range m.Conns() {
		cut(c.Endpoint, m.now, goodbye)
	}
}

// cut ends a connection at once: its disconnect goes out, and nothing waits for
// what is on its way.
func cut(e *Endpoint, now time.Time, reason string) {
	e.fail(now, Close{Reason: ReasonClosed, Text: reason})
	e.end(e.closing.close)
}

// Done is closed when the server is closed or its socket failed. Close then
// returns why.
func (s *Server) Done() <-chan struct{} { return s.loop.Done() }

// afterTurn hands the events of a turn to the handler.
func (s *Server) afterTurn(now time.Time) {
	s.mux.Advance(now)
	for c, ev, ok := s.mux.PollEvent(); ok; c, ev, ok = s.mux.PollEvent() {
		switch ev.Kind {
		case EventConnected:
			s.log.Info("connected", "peer", c.Peer())
		case EventClosed:
			s.log.Info("disconnected", "peer", c.Peer(), "reason", ev.Close.Reason, "text", ev.Close.Text)
		}
		s.handle(c, ev)
	}
	if s.leaving && s.mux.Len() == 0 {
		s.leaving = false
		close(s.empty)
	}
	s.mu.Lock()
	s.stats.Conns, s.stats.MuxStats = s.mux.Len(), s.mux.stats
	s.mu.Unlock()
}
