package stamp

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/shell"
	"parley/internal/udp"
)

// ErrServerClosed: the server was closed, or its socket failed.
var ErrServerClosed = errors.New("stamp: server closed")

// Logger is what Config.Log takes.
type Logger = slog.Logger

// goodbye is what clients are told when the server closes. It is short enough
// for a rejection.
const goodbye = "server closing"

// Server is a Mux at a socket. One goroutine, the loop, owns the Mux and all its
// connections; it calls the handler. The methods of a Server may be called by any
// other goroutine; those that wait for the loop must not be called by the
// handler, which would wait for itself: Do, Stats, Shutdown and Close.
type Server struct {
	mux    *Mux
	shell  *shell.Server
	handle func(c *Conn, ev Event)
	log    *slog.Logger
}

// ServerStats is what a server did.
type ServerStats struct {
	Conns int // there are now
	MuxStats
	Traffic Stats // of all connections, those included that are over
	Socket  udp.Stats
	Loop    udp.LoopStats
}

// Listen starts a server on addr, written host:port; an empty host is all
// addresses of the machine, and port 0 lets the system choose.
//
// handle is called for every event of every connection, one at a time, on the
// loop: while it runs, no packet moves, so it must not block. It may keep c and
// call c.Send and c.Close whenever it or a function given to Do runs, and at no
// other time. A nil handle ignores all events.
func Listen(addr string, c Config, handle func(c *Conn, ev Event)) (*Server, error) {
	socket, err := udp.Listen(addr, udp.Config{})
	if err != nil {
		return nil, fmt.Errorf("stamp: %w", err)
	}
	return serve(socket, c, handle), nil
}

func serve(socket *udp.Socket, c Config, handle func(*Conn, Event)) *Server {
	var key admission.Key
	cryptorand.Read(key[:])
	log, flush := shell.ServerLog(c.Log, "stamp", socket.LocalAddr())
	s := &Server{mux: NewMux(time.Now(), c, &Shared{Rand: shell.Rand()}, key), handle: handle, log: log}
	if handle == nil {
		s.handle = func(*Conn, Event) {}
	}
	s.log.Info("listening")
	s.shell = shell.Serve(socket, s.mux, shell.ServerConfig{
		Name: "stamp", Events: s.events, Quiet: s.mux.conns.Quiet, Leave: s.leave, Abort: s.abort, Flush: flush,
	})
	return s
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() netip.AddrPort { return s.shell.Addr() }

// Do runs fn here and now while the loop stands still, and returns when it has run: it is how
// other goroutines reach the Mux and its connections, a game's tick for one. What fn sends goes out at
// once after. fn must be short, and neither it nor the handler may call Do. The error is
// ErrServerClosed, and then fn has not run.
func (s *Server) Do(fn func(m *Mux)) error {
	if s.shell.Do(func() { fn(s.mux) }) != nil {
		return ErrServerClosed
	}
	return nil
}

// Stats returns the counters, also after Close. Like Do it has the loop stand still, for as long as it
// takes to look at each connection.
func (s *Server) Stats() (st ServerStats) {
	s.shell.Look(func() { st.Conns, st.MuxStats, st.Traffic = s.mux.Len(), s.mux.stats, s.mux.Traffic() })
	st.Socket, st.Loop = s.shell.Socket().Stats(), s.shell.LoopStats()
	return st
}

// Shutdown tells every client that the server closes, lets no one in, and closes
// the server when the last has acknowledged it or the linger time is over; or
// when ctx ends, which is then the error.
func (s *Server) Shutdown(ctx context.Context) error { return s.shell.Shutdown(ctx) }

// Close closes the server at once: every client is told, but no one waits for it
// to hear. The handler still gets each connection's EventClosed. The error is
// why the socket failed, if it did. A second call changes nothing.
func (s *Server) Close() error { return s.shell.Close() }

// Done is closed when the server is closed or its socket failed. Close then
// returns why.
func (s *Server) Done() <-chan struct{} { return s.shell.Done() }

func (s *Server) leave() { s.mux.Shutdown(s.mux.now, goodbye) }

// abort ends all connections. Their disconnects go out with the last turn.
func (s *Server) abort() {
	s.leave()
	for c := range s.mux.Conns() {
		abandon(&c.Endpoint, s.mux.now, goodbye)
	}
}

// abandon ends a connection at once: its disconnect goes out, and nothing waits for
// what is on its way.
func abandon(e *Endpoint, now time.Time, reason string) {
	if e.state == StateClosed {
		return
	}
	e.fail(now, Close{Reason: ReasonClosed, Text: reason})
	e.end(e.closing.close)
}

// events hands the events of a turn to the handler.
func (s *Server) events() {
	for c, ev, ok := s.mux.PollEvent(); ok; c, ev, ok = s.mux.PollEvent() {
		switch ev.Kind {
		case EventConnected:
			s.log.Info("connected", "peer", c.Peer())
		case EventClosed:
			s.log.Info("disconnected", "peer", c.Peer(), "reason", ev.Close.Reason, "text", ev.Close.Text)
		}
		s.handle(c, ev)
	}
}
