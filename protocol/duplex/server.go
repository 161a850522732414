package duplex

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"parley/internal/admission"
	"parley/internal/bans"
	"parley/internal/carry"
	"parley/internal/pace"
	"parley/internal/shell"
	"parley/internal/stream"
	"parley/internal/udp"
	"parley/protocol/duplex/core"
)

// ErrServerClosed means that the server was closed, or its socket failed.
var ErrServerClosed = errors.New("duplex: server closed")

// Server serves a Scene over its sockets. One goroutine, the loop, owns the Scene and all connections, and
// calls the handler. Any other goroutine may call the methods of a Server, except for Scene: only the
// handler and a function given to Do may use it. The handler must not call Do, Stats, Shutdown or
// Close: they wait for the loop, which waits for the handler.
type Server struct {
	mux    *core.Mux
	shell  *shell.Server
	mains  stream.Carrier
	hall   carry.Sessions
	handle func(c *Conn, ev Event)
	log    *slog.Logger

	streams int // owned by the loop: open mains, which may outlast their connections
	buf     [stream.MaxSend]byte
}

// ServerStats are the counters of a server.
type ServerStats struct {
	Conns    int              // open connections, including those that have not joined
	Mux      core.MuxStats    // the fate of datagrams and of mains
	Traffic  core.Stats       // of all connections, ended ones included
	Streams  core.StreamStats // mains before the protocol begins
	Socket   core.SocketStats
	Loop     core.LoopStats
	Browsers core.SessionStats // sessions of clients in browsers
}

// Listen starts a server on addr, written host:port. Main is TCP there, and the feed is UDP at the
// same port, unless Config.FeedAddr is set. An empty host means all addresses of the machine. With
// port 0 the system chooses the port.
//
// handle is called for every event of every player, one at a time, on the loop. Nothing is sent or
// received while it runs, so it must not block. It may keep c and call its methods, but only while it
// or a function given to Do runs. A nil handle ignores all events.
//
// A game calls Do once a tick. The function given to Do calls Scene.Set for each change, and then
// Scene.Flush.
func Listen(addr string, c Config, handle func(c *Conn, ev Event)) (*Server, error) {
	listener, socket, err := listen(addr, c.FeedAddr)
	if err != nil {
		return nil, fmt.Errorf("duplex: %w", err)
	}
	return serve(listener, stream.Serve, socket, c, handle), nil
}

// listen opens both sockets. When the system chooses a port for main, that of the feed may
// be in use: then it chooses again.
func listen(addr, feed string) (net.Listener, *udp.Socket, error) {
	config := net.ListenConfig{KeepAliveConfig: tcpKeepAlive}
	for try := 1; ; try++ {
		listener, err := config.Listen(context.Background(), "tcp", addr)
		if err != nil {
			return nil, nil, err
		}
		at := feed
		if at == "" {
			host, _, _ := net.SplitHostPort(addr) // it listens, so it can be split
			_, port, _ := net.SplitHostPort(listener.Addr().String())
			at = net.JoinHostPort(host, port)
		}
		socket, err := udp.Listen(at, udp.Config{})
		if err == nil {
			return listener, socket, nil
		}
		listener.Close()
		if _, port, _ := net.SplitHostPort(addr); port != "0" || feed != "" || try == 10 {
			return nil, nil, err
		}
	}
}

// serve starts a server over sockets that are open. bring makes the carrier of its mains.
func serve(listener net.Listener, bring func(net.Listener, stream.Config) stream.Carrier, socket *udp.Socket, c Config, handle func(*Conn, Event)) *Server {
	var key [32]byte
	cryptorand.Read(key[:])
	s := &Server{
		// "The token comes from a cryptographic source": so does the seed of this one, and
		// ChaCha8 lets nobody who sees tokens know others.
		mux:    core.NewMux(time.Now(), c, &core.Shared{Rand: shell.Rand()}, key),
		handle: handle,
		hall:   carry.HallOf(c.Sessions),
		log:    shell.Log(c.Log, "duplex", "local", socket.LocalAddr()),
	}
	if handle == nil {
		s.handle = func(*Conn, Event) {}
	}
	mains := bring(listener, stream.Config{
		TLS: c.TLS, HandshakeTime: s.mux.JoinTimeout(), Linger: drainWait, Door: bans.NewDoor(c.Banned), Proxies: c.Proxies, Log: s.log,
		Waiting: admission.PorchConfig{Host: c.WaitingPerAddress, Network: 8 * c.WaitingPerAddress, Total: min(c.WaitingPerAddress, 0)},
	})
	s.mains = carry.JoinStreams(mains, s.hall)
	s.mux.SetHooks(core.Hooks{
		Pace: func(now time.Time, c *Conn, beside int) (budget, unacked int, probe bool) {
			p := s.lineOf(c).Pace(now, beside)
			return p.Budget, p.Unacked, p.Probe
		},
		Estimate: func(c *Conn) pace.Estimate { return s.lineOf(c).Estimate() },
	})
	s.log.Info("listening", "main", listener.Addr())
	s.shell = shell.Serve(carry.Join(socket, s.hall), shellCore{s.mux, s}, shell.ServerConfig{
		Name: "duplex", Closed: ErrServerClosed, Events: s.turn, Door: bans.NewDoor(c.Banned),
	})
	s.mains.Start(socket.Wake)
	return s
}

// shellCore is the core as the shell sees it. A server that shuts down waits for the ends of its mains too.
type shellCore struct {
	*core.Mux
	server *Server
}

func (c shellCore) Len() int { return c.server.streams }

func (c shellCore) Abort(now time.Time, text string) {
	c.server.mains.Stop()
	c.Mux.Abort(now, text)
}

// Addr returns the address of main.
func (s *Server) Addr() netip.AddrPort { return s.mains.Addr() }

// FeedAddr returns the address of the feed.
func (s *Server) FeedAddr() netip.AddrPort { return s.shell.Addr() }

// Do pauses the loop, runs fn in the calling goroutine, and returns when fn has run. Other goroutines,
// such as a game's tick, use it to reach the Scene and its connections. What fn sends goes out at once
// afterwards. fn must be short, and neither fn nor the handler may call Do. If Do returns
// ErrServerClosed, fn has not run.
func (s *Server) Do(fn func()) error { return s.shell.Do(fn) }

// Scene returns what the server shows clients that it has put into no other scene. Only the handler and a function given to Do may
// use it.
func (s *Server) Scene() *Scene { return &s.mux.Scene }

// NewScene returns a new scene, which is empty. Conn.AnswerPass and Conn.Place put clients into it. Only the handler and a function
// given to Do may call it and use the scene.
func (s *Server) NewScene() *Scene { return s.mux.NewScene() }

// Stats returns the counters. It works after Close, too. Like Do it pauses the loop, for as long as it
// takes to visit each connection.
func (s *Server) Stats() (st ServerStats) {
	s.shell.Look(func() { st.Conns, st.Mux, st.Traffic = s.mux.Len(), s.mux.Stats(), s.mux.Traffic() })
	st.Streams = s.mains.Stats()
	st.Socket, st.Loop = s.shell.Carrier().Stats(), s.shell.LoopStats()
	st.Browsers = s.hall.Stats()
	return st
}

// Shutdown admits no new clients, closes each main when its queue is written or Config.Linger is
// over, and then closes the server. If ctx ends first, it closes the server and returns the error of
// ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.shell.Shutdown(ctx)
	s.mains.Close()
	return err
}

// Close closes the server at once. The handler still gets each player's EventClosed. If the feed's
// socket failed, Close returns its error. A second call has no effect.
func (s *Server) Close() error {
	err := s.shell.Close()
	s.mains.Close()
	return err
}

// Done returns a channel that is closed when the server is closed or the feed's socket fails. Close
// then returns the error.
func (s *Server) Done() <-chan struct{} { return s.shell.Done() }
