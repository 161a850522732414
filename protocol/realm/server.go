package realm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"parley/internal/shell"
	"parley/internal/stream"
	"parley/protocol/realm/core"
)

// ErrServerClosed means that the server was closed.
var ErrServerClosed = errors.New("realm: server closed")

// goodbye is what the log says of connections that a closing server ended.
const goodbye = "server closing"

// Server is a Mux with a socket. One goroutine, the loop, owns the Mux and all its connections, and
// calls the handler. Any other goroutine may call the methods of a Server, except for Mux: only the
// handler and a function given to Do may use it. The handler must not call Do, Stats, Shutdown or Close: they wait for the loop, which waits for the handler.
type Server struct {
	mux         *core.Mux
	accounts    Accounts
	handle      func(c *Conn, ev Event)
	log         *slog.Logger
	streams     stream.Carrier
	loop        *stream.Loop
	times       *timeShell // nil: there is no time server
	fingerprint string
	buf         [stream.MaxSend]byte

	leaving bool          // owned by the loop: Shutdown was called
	open    int           // owned by the loop: open streams, which may outlast their connections
	empty   chan struct{} // closed when the last stream has ended after Shutdown
	closing sync.Once
}

// ServerStats are the counters of a server.
type ServerStats struct {
	Mux     core.MuxStats    // connections now, and the fates of all
	Traffic core.Stats       // of all connections, ended ones included
	Streams core.StreamStats // connections before the protocol begins
	Time    core.TimeStats   // of the time server
}

// Listen starts a server on addr, written host:port. An empty host means all addresses of the machine.
// With port 0 the system chooses the port.
//
// handle is called for every event of every connection, one at a time, on the loop. Nothing is sent or
// received while it runs, so it must not block. With Config.Accounts, it does not get EventRegister and
// EventLogin. It may keep c and call its methods, but only while it or a function given to Do runs.
func Listen(addr string, c Config, handle func(c *Conn, ev Event)) (*Server, error) {
	secured, fingerprint, err := c.secure()
	if err != nil {
		return nil, fmt.Errorf("realm: %w", err)
	}
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("realm: %w", err)
	}
	s := &Server{accounts: c.Accounts, handle: handle, fingerprint: fingerprint, empty: make(chan struct{})}
	local := socket.Addr().(*net.TCPAddr).AddrPort()
	s.log = shell.Log(c.Log, "realm", "local", local)
	if handle == nil {
		s.handle = func(c *Conn, ev Event) {
			if ev.Kind == EventEnter {
				c.Refuse(core.LoginPlayerLimitReached)
			}
		}
	}
	now := time.Now()
	if !c.NoTime {
		if s.times, err = listenTime(local, &c, now); err != nil {
			socket.Close()
			return nil, fmt.Errorf("realm: %w", err)
		}
		c.TimeServerPort = s.times.loop.Carrier().LocalAddr().Port()
	}
	s.mux = core.NewMux(now, c.Config, &core.Shared{})
	s.mux.SetHooks(core.Hooks{Entered: func(c *Conn) { s.linkOf(c).Entered() }, Refused: s.logout})
	filled := s.mux.Config()
	s.loop = stream.NewLoop(s.turn)
	s.streams = stream.Serve(socket, stream.Config{
		TLS: secured, HandshakeTime: filled.VersionWithin, Linger: filled.Linger, Waiting: c.porch(filled.MaxWaiting),
	})
	s.log.Info("listening", "fingerprint", fingerprint)
	s.streams.Start(s.loop.Wake)
	s.loop.Run()
	return s, nil
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() netip.AddrPort { return s.streams.Addr() }

// TimeAddr returns the address of the time server; the zero value if there is none.
func (s *Server) TimeAddr() netip.AddrPort {
	if s.times == nil {
		return netip.AddrPort{}
	}
	return s.times.loop.Carrier().LocalAddr()
}

// Fingerprint returns the SHA-256 of the server's certificate in hex, which clients can pin. It is ""
// without TLS, and if Config.TLS has no fixed certificate.
func (s *Server) Fingerprint() string { return s.fingerprint }

// Do pauses the loop, runs fn in the calling goroutine, and returns when fn has run. Other goroutines,
// such as a game's tick, use it to reach the Mux and its connections. What fn sends goes out at once
// afterwards. fn must be short, and neither fn nor the handler may call Do. If Do returns
// ErrServerClosed, fn has not run.
func (s *Server) Do(fn func()) error {
	err := s.loop.Visit(func() {
		s.mux.Advance(time.Now())
		fn()
	})
	if err != nil {
		return ErrServerClosed
	}
	return nil
}

// Mux returns the server's core, with its connections. Only the handler and a function given to Do may use it.
func (s *Server) Mux() *core.Mux { return s.mux }

// Stats returns the counters. It works after Close, too. Like Do it pauses the loop, for as long as it
// takes to visit each connection.
func (s *Server) Stats() (st ServerStats) {
	look := func() { st.Mux, st.Traffic = s.mux.Stats(), s.mux.Traffic() }
	if s.loop.Visit(look) != nil {
		<-s.loop.Done() // nobody else is at the Mux any more
		look()
	}
	st.Streams = s.streams.Stats()
	if s.times != nil {
		st.Time = s.times.stats()
	}
	return st
}

// Shutdown tells every client that the server is closing, and admits no new ones. It closes the server
// when all have been told or Config.Linger is over. If ctx ends first, it closes the server and returns
// the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	var late error
	begin := func() {
		s.leaving = true
		s.streams.Stop()
		s.mux.Shutdown(time.Now(), goodbye)
	}
	if s.loop.Do(begin) == nil {
		select {
		case <-s.empty:
		case <-s.loop.Done():
		case <-ctx.Done():
			late = fmt.Errorf("realm: shutdown: %w", ctx.Err())
		}
	}
	s.Close()
	return late
}

// Close closes the server at once: every client is told, but Close does not wait for the exits to be
// written. The handler still gets each connection's EventClosed. A second call has no effect.
func (s *Server) Close() {
	s.closing.Do(func() {
		_ = s.loop.Do(s.abort)
		s.loop.Stop()
		<-s.loop.Done()
		s.streams.Close()
		if s.times != nil {
			s.times.loop.Close()
		}
	})
	<-s.loop.Done()
}

// Done returns a channel that is closed when the server is closed.
func (s *Server) Done() <-chan struct{} { return s.loop.Done() }

// abort ends all connections; their exits go out as far as the sockets take them.
func (s *Server) abort() {
	s.streams.Stop()
	s.mux.Shutdown(time.Now(), goodbye)
	s.transmit()
	s.mux.CutAll()
}

// turn is what the loop does: it hands over what came, does what is due, and writes.
func (s *Server) turn(now time.Time) (time.Time, bool) {
	s.mux.Advance(now)
	s.streams.Turn(now, (*intake)(s))
	s.mux.HandleTimeout(now)
	s.events()
	for s.transmit() {
		s.events()
	}
	if s.leaving && s.mux.Len() == 0 && s.open == 0 {
		s.leaving = false
		close(s.empty)
	}
	return s.mux.NextTimeout()
}

// transmit writes to all who take bytes, and reports whether there is something to tell.
func (s *Server) transmit() bool {
	for c, n, ok := s.mux.PollBytes(s.buf[:]); ok; c, n, ok = s.mux.PollBytes(s.buf[:]) {
		to := s.linkOf(c)
		to.Send(s.buf[:n])
		if !to.Ready() {
			s.mux.Block(c)
		}
	}
	return !s.mux.Quiet()
}

// events hands the events of a turn to the accounts and the handler.
func (s *Server) events() {
	for c, ev, ok := s.mux.PollEvent(); ok; c, ev, ok = s.mux.PollEvent() {
		switch {
		case ev.Kind == EventRegister && s.accounts != nil:
			s.register(c, ev.Question)
			continue
		case ev.Kind == EventLogin && s.accounts != nil:
			s.login(c, ev.Question)
			continue
		case ev.Kind == EventClosed:
			s.log.Info("disconnected", "peer", c.Peer(), "reason", ev.Close.Reason, "exit", ev.Close.Exit, "text", ev.Close.Text)
			s.linkOf(c).Finish()
		}
		s.handle(c, ev)
		if ev.Kind == EventClosed {
			s.logout(c)
		}
	}
}

func (s *Server) register(c *Conn, q core.Question) {
	s.accounts.Register(c.Peer(), q.Name, q.Password, func(code core.RegisterCode) {
		_ = s.loop.Post(func() { c.AnswerRegister(q, code) }) // a closed server has told everybody
	})
}

func (s *Server) login(c *Conn, q core.Question) {
	s.accounts.Login(c.Peer(), q.Name, q.Password, func(code core.LoginCode) {
		err := s.loop.Post(func() {
			s.mux.Advance(time.Now())
			if l := s.linkOf(c); c.AnswerLogin(q, code) {
				l.session, l.account = code == core.LoginOK, q.Name
			} else if code == core.LoginOK {
				s.accounts.Logout(q.Name) // nobody waited for it any more
			}
		})
		if err != nil && code == LoginOK {
			s.accounts.Logout(q.Name)
		}
	})
}

// logout ends the session of a connection's account.
func (s *Server) logout(c *Conn) {
	if l := s.linkOf(c); l.session {
		l.session = false
		s.accounts.Logout(l.account)
	}
}

// link is what a server has of a connection beside the core's part.
type link struct {
	stream.Stream
	server  *Server
	conn    *Conn
	session bool   // the account is logged in
	account string // of the session
}

func (s *Server) linkOf(c *Conn) *link { return s.mux.Link(c).(*link) }

// intake is the Server as its carrier sees it.
type intake Server

func (s *intake) Opened(now time.Time, to stream.Stream) stream.Receiver {
	s.open++
	l := &link{Stream: to, server: (*Server)(s), conn: s.mux.Accept(now, to.Peer(), to.Born())}
	s.mux.SetLink(l.conn, l)
	s.log.Debug("connected", "peer", to.Peer())
	if s.times != nil {
		s.times.enter(to.Peer().Addr())
	}
	return l
}

func (l *link) Received(now time.Time, b []byte) int {
	l.server.mux.HandleBytes(now, l.conn, b)
	l.server.events() // b is valid until we return
	return len(b)
}

func (l *link) Writable(now time.Time) { l.server.mux.Unblock(now, l.conn) }

func (l *link) Ended(now time.Time, err error) {
	l.server.open--
	l.server.mux.HandleEnd(now, l.conn, err)
	if times := l.server.times; times != nil {
		times.leave(l.Peer().Addr())
	}
}
