package realm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"time"

	"parley/internal/bans"
	"parley/internal/carry"
	"parley/internal/datagram"
	"parley/internal/pace"
	"parley/internal/shell"
	"parley/internal/stream"
	"parley/protocol/realm/core"
)

// ErrServerClosed means that the server was closed.
var ErrServerClosed = errors.New("realm: server closed")

// Server is a Mux with a socket. One goroutine, the loop, owns the Mux and all its connections, and
// calls the handler. Any other goroutine may call the methods of a Server, except for Mux: only the
// handler and a function given to Do may use it. The handler must not call Do, Stats, Shutdown or
// Close: they wait for the loop, which waits for the handler.
type Server struct {
	mux         *core.Mux
	accounts    Accounts
	handle      func(c *Conn, ev Event)
	log         *slog.Logger
	streams     stream.Carrier
	hall        carry.Sessions
	shell       *shell.Server
	times       *timeShell // nil: there is no time server
	fingerprint string

	open int // owned by the loop: open streams, which may outlast their connections
	buf  [stream.MaxSend]byte
}

// ServerStats are the counters of a server.
type ServerStats struct {
	Mux      core.MuxStats     // connections now, and the fates of all
	Traffic  core.Stats        // of all connections, ended ones included
	Streams  core.StreamStats  // connections before the protocol begins
	Time     core.TimeStats    // of the time server
	Browsers core.SessionStats // sessions of clients in browsers
}

// Listen starts a server on addr, written host:port. An empty host means all addresses of the machine.
// With port 0 the system chooses the port.
//
// handle is called for every event of every connection, one at a time, on the loop. Nothing is sent or
// received while it runs, so it must not block. With Config.Accounts, it does not get EventRegister and
// EventLogin. It may keep c and call its methods, but only while it or a function given to Do runs.
func Listen(addr string, c Config, handle func(c *Conn, ev Event)) (*Server, error) {
	return listen(addr, stream.Serve, c, handle)
}

// listen starts a server. bring makes the carrier of its streams.
func listen(addr string, bring func(net.Listener, stream.Config) stream.Carrier, c Config, handle func(*Conn, Event)) (*Server, error) {
	secured, fingerprint, err := c.secure()
	if err != nil {
		return nil, fmt.Errorf("realm: %w", err)
	}
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("realm: %w", err)
	}
	s := &Server{hall: carry.HallOf(c.Sessions), accounts: c.Accounts, handle: handle, fingerprint: fingerprint}
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
	hooks := core.Hooks{
		Entered: func(c *Conn) { s.linkOf(c).Entered() }, Refused: s.logout,
		Pace: func(now time.Time, c *Conn) (budget, unacked int, probe bool) {
			p := s.linkOf(c).Pace(now, 0)
			return p.Budget, p.Unacked, p.Probe
		},
		Estimate: func(c *Conn) pace.Estimate { return s.linkOf(c).Estimate() },
	}
	if c.Accounts != nil {
		hooks.Key = c.Accounts.Key
	}
	s.mux.SetHooks(hooks)
	filled := s.mux.Config()
	listener := bring(socket, stream.Config{
		TLS: secured, HandshakeTime: filled.VersionWithin, Linger: filled.Linger, Waiting: c.porch(filled.MaxWaiting),
		Door: bans.NewDoor(c.Banned), Proxies: c.Proxies, Log: s.log,
	})
	s.streams = carry.JoinStreams(listener, s.hall)
	s.log.Info("listening", "fingerprint", fingerprint)
	carrier := datagram.NewSilent(local, netip.AddrPort{})
	s.shell = shell.Serve(carrier, shellCore{s.mux, s}, shell.ServerConfig{
		Name: "realm", Closed: ErrServerClosed, Events: s.turn,
		Commands: math.MaxInt, // each is the answer to a connection's question
	})
	s.streams.Start(carrier.Wake)
	return s, nil
}

// shellCore is the core as the shell sees it: without datagrams. A server that shuts down waits for the ends of its streams
// too.
type shellCore struct {
	*core.Mux
	server *Server
}

func (c shellCore) Len() int { return c.Mux.Len() + c.server.open }

// lateLoop is how late a loop must be to take the bytes of all streams at once. Otherwise a crowd that floods could delay
// a turn with them, and a peer whose bytes wait for some turns is not late by that.
const lateLoop = time.Second

// HandleTimeout first takes the bytes that came, so that no peer is late because the loop was.
func (c shellCore) HandleTimeout(now time.Time) {
	turns := 1
	if due, ok := c.NextTimeout(); ok && now.Sub(due) >= lateLoop {
		turns += c.server.open / stream.MaxTurn
	}
	for range turns {
		c.server.streams.Turn(now, (*intake)(c.server))
	}
	c.Mux.HandleTimeout(now)
}

// Shutdown admits no further streams.
func (c shellCore) Shutdown(now time.Time, text string) {
	c.server.streams.Stop()
	c.Mux.Shutdown(now, text)
}

// Abort ends all connections; their exits go out as far as the sockets take them.
func (c shellCore) Abort(now time.Time, text string) {
	c.Shutdown(now, text)
	c.server.transmit()
	c.CutAll()
}

func (c shellCore) HandleDatagram(time.Time, netip.AddrPort, []byte) {}

func (c shellCore) PollTransmit([]byte) (int, netip.AddrPort, bool) {
	return 0, netip.AddrPort{}, false
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
func (s *Server) Do(fn func()) error { return s.shell.Do(fn) }

// Mux returns the server's core, with its connections. Only the handler and a function given to Do may use it.
func (s *Server) Mux() *core.Mux { return s.mux }

// Stats returns the counters. It works after Close, too. Like Do it pauses the loop, for as long as it
// takes to visit each connection.
func (s *Server) Stats() (st ServerStats) {
	s.shell.Look(func() { st.Mux, st.Traffic = s.mux.Stats(), s.mux.Traffic() })
	st.Streams, st.Browsers = s.streams.Stats(), s.hall.Stats()
	if s.times != nil {
		st.Time = s.times.stats()
	}
	return st
}

// Shutdown tells every client that the server is closing, and admits no new ones. It closes the server
// when all have been told or Config.Linger is over. If ctx ends first, it closes the server and returns
// the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.shell.Shutdown(ctx)
	s.Close()
	return err
}

// Close closes the server at once: every client is told, but Close does not wait for the exits to be
// written. The handler still gets each connection's EventClosed. A second call has no effect.
func (s *Server) Close() {
	_ = s.shell.Close() // its carrier does not fail
	s.streams.Close()
	if s.times != nil {
		s.times.loop.Close()
	}
}

// Done returns a channel that is closed when the server is closed.
func (s *Server) Done() <-chan struct{} { return s.shell.Done() }

// turn is what the loop does once around: it hands over what came, tells the game, and writes.
func (s *Server) turn() {
	s.streams.Turn(s.mux.Now(), (*intake)(s))
	s.events()
	for s.transmit() {
		s.events()
	}
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
			s.log.Info("disconnected", shell.Number(c.LogNumber), "peer", c.Peer(), "reason", ev.Close.Reason, "exit", ev.Close.Exit, "text", ev.Close.Text)
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
		_ = s.shell.Post(func() { c.AnswerRegister(q, code) }) // a closed server has told everybody
	})
}

func (s *Server) login(c *Conn, q core.Question) {
	s.accounts.Login(c.Peer(), q.Name, q.Password, func(code core.LoginCode) {
		err := s.shell.Post(func() {
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
