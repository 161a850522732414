package shell

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"parley/internal/bans"
	"parley/internal/datagram"
)

// Core is a dialect's server core.
type Core interface {
	datagram.Core

	// Advance sets the time before the core is called.
	Advance(now time.Time)

	// Len returns the number of connections.
	Len() int

	// Shutdown says goodbye to all clients and admits no new ones. Abort ends all connections at once. Both
	// may be called again. The loop calls Abort also when the carrier has failed.
	Shutdown(now time.Time, text string)
	Abort(now time.Time, text string)
}

// Goodbye is the text with which a server that closes ends its connections.
const Goodbye = "server closing"

// ServerConfig holds what a dialect adds to a Server.
type ServerConfig struct {
	// Name is the dialect's name, with which its errors begin. Closed is the error of Do when the server is
	// closed.
	Name   string
	Closed error

	// Events is called once a turn, on the loop. It polls the core's events and passes them to the
	// program.
	Events func()

	// Quiet, if set, reports whether the core has no events. Then the caller of Do sends the core's
	// output, and the loop is not woken.
	Quiet func() bool

	// Lock, if set, guards the core: see datagram.LoopConfig.
	Lock sync.Locker

	// Door, if set, keeps out the banned: see datagram.LoopConfig.
	Door *bans.Door

	// Flush, if set, is called when the server is closed. It waits for the last lines of the log.
	Flush func()

	// Commands bounds the functions of Post that wait. Default 1,024.
	Commands int
}

// Server is a server core with a carrier. One goroutine, the loop, owns the core. Any other goroutine may
// call the methods. The loop must not call Do, Look, Shutdown and Close, which wait for it.
type Server struct {
	cfg     ServerConfig
	core    Core
	loop    *datagram.Loop
	leaving bool          // owned by the loop: Shutdown was called
	left    bool          // owned by the loop: empty is closed
	empty   chan struct{} // closed when the last connection has left after that
}

// Serve starts a server with a carrier, which it owns from now on.
func Serve(carrier datagram.Carrier, core Core, c ServerConfig) *Server {
	s := &Server{cfg: c, core: core, empty: make(chan struct{})}
	s.loop = datagram.StartLoop(carrier, core, datagram.LoopConfig{
		AfterTurn: s.afterTurn, Lock: c.Lock, Calm: c.Quiet, Ended: s.ended, Door: c.Door, Commands: c.Commands,
	})
	return s
}

// Carrier returns the server's carrier, for its addresses and counters.
func (s *Server) Carrier() datagram.Carrier { return s.loop.Carrier() }

// Addr returns the address that the server listens on.
func (s *Server) Addr() netip.AddrPort { return s.loop.Carrier().LocalAddr() }

// LoopStats returns the counters of the loop.
func (s *Server) LoopStats() datagram.LoopStats { return s.loop.Stats() }

// Done returns a channel that is closed when the server is closed or its carrier failed. Close then
// returns the error.
func (s *Server) Done() <-chan struct{} { return s.loop.Done() }

// Do runs fn in the calling goroutine while the loop is paused, with the core at the present time. The
// core's output is sent right afterwards. If Do returns ServerConfig.Closed, fn has not run.
func (s *Server) Do(fn func()) error {
	if !s.do(func(time.Time) { fn() }) {
		return s.cfg.Closed
	}
	return nil
}

// do is Do with the time, and reports whether fn has run.
func (s *Server) do(fn func(now time.Time)) bool {
	return s.loop.Visit(func() {
		now := time.Now()
		s.core.Advance(now)
		fn(now)
	}) == nil
}

// Post queues fn to run on the loop, and does not wait. If it returns an error, fn does not run.
func (s *Server) Post(fn func()) error { return s.loop.Post(fn) }

// Look runs fn while nobody else uses the core, even when the server is closed. fn reads the core and
// changes nothing.
func (s *Server) Look(fn func()) {
	if !s.do(func(time.Time) { fn() }) {
		<-s.loop.Done() // nobody uses the core any more
		fn()
	}
}

// Shutdown makes the core leave, and closes the server when the last connection has ended. If ctx ends
// first, it closes the server and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	var late error
	if s.do(s.leave) {
		select {
		case <-s.empty:
		case <-s.loop.Done():
		case <-ctx.Done():
			if !isClosed(s.empty) {
				late = fmt.Errorf("%s: shutdown: %w", s.cfg.Name, ctx.Err())
			}
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	return late
}

func (s *Server) leave(now time.Time) {
	s.leaving = true
	s.core.Shutdown(now, Goodbye)
	s.noteEmpty()
}

// noteEmpty tells Shutdown when the last connection has left.
func (s *Server) noteEmpty() {
	if s.leaving && !s.left && s.core.Len() == 0 {
		s.left = true
		close(s.empty)
	}
}

// Close makes the core abort, and closes the server. The last turn sends the core's output, and polls
// its events. If the carrier failed, Close returns its error. A second call changes nothing.
func (s *Server) Close() error {
	s.do(s.abort) // it does not if the server is closed already
	err := s.loop.Close()
	if s.cfg.Flush != nil {
		s.cfg.Flush()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.cfg.Name, err)
	}
	return nil
}

func (s *Server) abort(now time.Time) { s.core.Abort(now, Goodbye) }

func (s *Server) afterTurn(now time.Time) {
	s.core.Advance(now)
	s.cfg.Events()
	s.noteEmpty()
}

// ended is called when the loop has ended. If the carrier failed, there was no last turn that reported
// the end of the connections to the program.
func (s *Server) ended(err error) {
	if now := time.Now(); err != nil {
		s.abort(now)
		s.afterTurn(now)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
