package replica

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"time"

	"parley/internal/bans"
	"parley/internal/carry"
	"parley/internal/datagram"
	"parley/internal/shell"
	"parley/internal/udp"
	"parley/protocol/replica/core"
)

// ErrServerClosed means that the server was closed, or its socket failed.
var ErrServerClosed = errors.New("replica: server closed")

// Server is a server on a UDP socket. One goroutine, the loop, owns all connections and the Store, and
// calls the handler. Any other goroutine may call the methods of a Server, except for Store, Conns and
// Replicate: only the handler and a function given to Do may call those. The handler must not call Do,
// Stats, Shutdown or Close: they wait for the loop, which waits for the handler.
type Server struct {
	mux    *core.Mux
	hall   carry.Sessions
	shell  *shell.Server
	handle func(c *Conn, ev Event)
	log    *slog.Logger
}

// ServerStats are the counters of a server.
type ServerStats struct {
	Conns      int           // open connections
	Mux        core.MuxStats // the fates of connections, and of datagrams without one
	Traffic    Stats         // of all connections, ended ones included
	RoundTrips core.Times    // of all connections
	Socket     core.SocketStats
	Loop       core.LoopStats
	Browsers   core.SessionStats // sessions of clients in browsers
}

// Listen starts a server on addr, written host:port. An empty host means all addresses of the machine.
// With port 0 the system chooses the port.
//
// handle is called for every event of every connection, one at a time, on the loop. No packet moves
// while it runs, so it must not block. It may keep c, and call c.Send and c.Close, but only while it
// or a function given to Do runs. The bytes of ev are valid until it returns. A nil handle ignores all
// events.
func Listen(addr string, c Config, handle func(c *Conn, ev Event)) (*Server, error) {
	socket, err := udp.Listen(addr, udp.Config{})
	if err != nil {
		return nil, fmt.Errorf("replica: %w", err)
	}
	return serve(socket, c, handle), nil
}

func serve(carrier datagram.Carrier, c Config, handle func(*Conn, Event)) *Server {
	var key core.Key
	cryptorand.Read(key[:])
	log, flush := shell.ServerLog(c.Log, "replica", carrier.LocalAddr())
	s := &Server{hall: carry.HallOf(c.Sessions), mux: core.NewMux(time.Now(), c, &core.Shared{Rand: shell.Rand()}, key), handle: handle, log: log}
	if handle == nil {
		s.handle = func(*Conn, Event) {}
	}
	s.log.Info("listening")
	s.shell = shell.Serve(carry.Join(carrier, s.hall), s.mux, shell.ServerConfig{
		Name: "replica", Closed: ErrServerClosed, Events: s.events, Quiet: s.mux.Quiet, Door: bans.NewDoor(c.Banned), Flush: flush,
	})
	return s
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() netip.AddrPort { return s.shell.Addr() }

// Do pauses the loop, runs fn in the calling goroutine, and returns when fn has run. Other goroutines,
// such as a game's tick, use it to reach the connections and the Store. What fn sends goes out at once
// afterwards. fn must be short, and neither fn nor the handler may call Do. If Do returns
// ErrServerClosed, fn has not run.
func (s *Server) Do(fn func()) error { return s.shell.Do(fn) }

// Store returns the values that the server replicates. Only the handler and a function given to Do may
// use it.
func (s *Server) Store() *Store { return s.mux.Store() }

// Conns yields all connections. Only the handler and a function given to Do may call it.
func (s *Server) Conns() iter.Seq[*Conn] { return s.mux.Conns() }

// Replicate sends each client the changes in its sight, at most budget bytes for each. A game calls it
// once a tick, in a function given to Do.
func (s *Server) Replicate(budget int) { s.mux.Replicate(budget) }

// Stats returns the counters. It works after Close, too. Like Do it pauses the loop, for as long as it
// takes to visit each connection.
func (s *Server) Stats() (st ServerStats) {
	s.shell.Look(func() {
		st.Conns, st.Mux, st.Traffic, st.RoundTrips = s.mux.Len(), s.mux.Stats(), s.mux.Traffic(), s.mux.RoundTrips()
	})
	st.Socket, st.Loop = s.shell.Carrier().Stats(), s.shell.LoopStats()
	st.Browsers = s.hall.Stats()
	return st
}

// Shutdown tells every client that the server is closing, and admits no new ones. It closes the server
// when the last client has acknowledged, or after Config.Linger. If ctx ends first, it closes the
// server and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error { return s.shell.Shutdown(ctx) }

// Close closes the server at once: every client is told, but Close does not wait for acknowledgements.
// The handler still gets each connection's EventClosed. If the socket failed, Close returns its error.
// A second call has no effect.
func (s *Server) Close() error { return s.shell.Close() }

// Done returns a channel that is closed when the server is closed or its socket fails. Close then
// returns the error.
func (s *Server) Done() <-chan struct{} { return s.shell.Done() }

// events hands the events of a turn to the handler.
func (s *Server) events() {
	var ev Event
	for c := s.mux.NextEvent(&ev); c != nil; c = s.mux.NextEvent(&ev) {
		if ev.Kind == EventClosed {
			s.log.Info("disconnected", shell.Number(c.LogNumber), "peer", c.Source(), "reason", ev.Close.Reason, "text", ev.Close.Text)
		}
		s.handle(c, ev)
		if ev.Kind == EventClosed {
			s.hall.Hangup(c.Peer())
		}
		if ev.Kind == EventConnected { // by now it may have a number
			s.hall.Welcome(c.Peer())
			s.log.Info("connected", shell.Number(c.LogNumber), "peer", c.Source())
		}
	}
}
