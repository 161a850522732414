package relay

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"parley/internal/bans"
	"parley/internal/carry"
	"parley/internal/datagram"
	"parley/internal/shell"
	"parley/internal/udp"
	"parley/protocol/relay/core"
)

// ErrServerClosed means that the server was closed, or its socket failed.
var ErrServerClosed = errors.New("relay: server closed")

// Server is a core.Mux with a socket, or with several if its lobby opens more ports. Each port has a goroutine, its loop. A loop
// holds a lock while it uses the Mux, so only one loop calls the handler at a time. Any other goroutine may call the methods of a
// Server, except for Peers: only the handler and a function given to Do may call it. The handler and the lobby must not call Do,
// View, Stats, Shutdown or Close: they wait for the loops.
type Server struct {
	shell  *shell.Server
	hall   carry.Sessions
	first  datagram.Carrier // of the first port; a loop may need it before shell is set
	handle func(p *Peer, ev Event)
	door   *bans.Door
	log    *slog.Logger
	listen func() (datagram.Carrier, error) // for a further port

	mu      sync.Mutex // guards the fields below, and the Mux with all that is in it
	mux     *core.Mux
	loops   map[*core.Port]*datagram.Loop // of the further ports
	stopped []*datagram.Loop              // of ports that were closed; the loops may still run
}

// ServerStats are the counters of a server.
type ServerStats struct {
	Conns      int // current peers
	Mux        core.MuxStats
	Traffic    Stats             // of all peers, ended ones included
	RoundTrips core.Times        // of all peers
	Socket     core.SocketStats  // of the first port
	Loop       core.LoopStats    // of the first port; Banned of all ports
	Browsers   core.SessionStats // sessions of clients in browsers
}

// Listen starts a server on addr, written host:port. An empty host means all addresses of the machine. With port 0 the system
// chooses the port.
//
// handle is called for every event of every peer, one at a time, on a loop; p is nil with core.EventPass. No package moves
// while it runs, so it must not block. It may keep p, and call p.Send, p.Room().Say, p.Close and p.Remove, but only while it or
// a function given to Do runs. A nil handle ignores all events.
func Listen(addr string, c Config, handle func(p *Peer, ev Event)) (*Server, error) {
	socket, err := udp.Listen(addr, socketConfig)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	ports := furtherPorts{host: socket.LocalAddr().Addr(), first: c.FirstPort, last: c.LastPort}
	return serve(socket, ports.listen, c, handle), nil
}

// The sockets of a server. One system call sends 64 datagrams: a package to all others in a room of 65. A larger room
// needs a call for each 64. With larger batches, the memory of the peers would not stay in the processor's cache between
// their packages and the answers. A further port belongs to one game, and there may be thousands. GRO is off: few clients
// send trains of datagrams, and with it each buffer would take 64 KiB.
var (
	socketConfig = udp.Config{Batch: 64, MaxDatagram: 1024, NoGRO: true}
	portConfig   = udp.Config{Batch: 32, MaxDatagram: 1024, NoGRO: true}
)

func serve(carrier datagram.Carrier, listen func() (datagram.Carrier, error), c Config, handle func(*Peer, Event)) *Server {
	var key core.Key
	cryptorand.Read(key[:])
	log, flush := shell.ServerLog(c.Log, "relay", carrier.LocalAddr())
	s := &Server{
		first:  carrier,
		hall:   carry.HallOf(c.Sessions),
		handle: handle,
		door:   bans.NewDoor(c.Banned),
		log:    log,
		listen: listen,
		loops:  map[*core.Port]*datagram.Loop{},
	}
	if handle == nil {
		s.handle = func(*Peer, Event) {}
	}
	s.mux = core.NewMux(time.Now(), c, &core.Shared{Rand: shell.Rand()}, key, opener{s})
	s.mux.First().SetNumber(carrier.LocalAddr().Port())
	s.log.Info("listening")
	s.shell = shell.Serve(carry.Join(carrier, s.hall), s.mux, shell.ServerConfig{
		Name: "relay", Closed: ErrServerClosed, Events: func() { s.finishTurn(s.mux.First()) }, Lock: &s.mu, Door: s.door, Flush: flush,
	})
	return s
}

// Addr returns the address of the first port.
func (s *Server) Addr() netip.AddrPort { return s.shell.Addr() }

// Do pauses the loops, runs fn in the calling goroutine, and returns when fn has run. Other goroutines, such as a game's tick,
// use it to reach the peers and their rooms. What fn sends goes out at once afterwards. fn must be short, and neither fn nor the
// handler may call Do. If Do returns ErrServerClosed, fn has not run.
func (s *Server) Do(fn func()) error { return s.shell.Do(fn) }

// NewRoom returns an empty room, for core.Newcomer.Admit. Only the handler and a function given to Do may call it.
func (s *Server) NewRoom() *Room { return s.mux.NewRoom() }

// Peers yields all peers, at all ports. Only the handler and a function given to Do may call it.
func (s *Server) Peers() iter.Seq[*Peer] { return s.mux.Peers() }

// View runs fn in the calling goroutine while no loop runs, so that fn can read the counters of a lobby and of peers. It works
// after Close, too. fn must not block, and must not change anything: no loop would notice the change.
func (s *Server) View(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// Stats returns the counters. It works after Close, too. Like View, it pauses the loops, for as long as it takes to visit each
// peer.
func (s *Server) Stats() (st ServerStats) {
	s.View(func() {
		m := s.mux
		st.Conns, st.Mux, st.Traffic, st.RoundTrips = m.Len(), m.Stats(), m.Traffic(), m.RoundTrips()
	})
	st.Socket, st.Loop = s.first.Stats(), s.shell.LoopStats()
	st.Browsers = s.hall.Stats()
	st.Loop.Banned = s.door.Turned()
	return st
}

// Shutdown admits no new clients. It closes the server when all packages are confirmed and every peer has been told. Peers that
// do not confirm are given up after some 10 s. If ctx ends first, Shutdown closes the server and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.shell.Shutdown(ctx)
	return errors.Join(err, s.closePorts())
}

// Close closes the server at once: every peer is told, but Close does not wait for confirmations. The handler still gets each
// peer's EventLeft. If a socket failed, Close returns its error. A second call has no effect.
func (s *Server) Close() error {
	err := s.shell.Close()
	return errors.Join(err, s.closePorts())
}

// Done returns a channel that is closed when the server is closed or its first port fails. Close then returns the error.
func (s *Server) Done() <-chan struct{} { return s.shell.Done() }

// finishTurn hands the events of a turn to the handler, and wakes the loops of those other
// ports that have got something to do by it. s.mu is held.
func (s *Server) finishTurn(self *core.Port) {
	for p, ev, ok := s.mux.PollEvent(); ok; p, ev, ok = s.mux.PollEvent() {
		switch ev.Kind {
		case EventJoined:
			s.hall.Welcome(p.Addr())
			s.log.Info("joined", shell.Number(p.LogNumber), "peer", p.Source(), "name", p.Name)
		case EventLeft:
			s.log.Info("left", shell.Number(p.LogNumber), "peer", p.Source(), "reason", ev.Close.Reason, "text", ev.Close.Text)
		}
		s.handle(p, ev)
		if ev.Kind == EventLeft {
			s.hall.Hangup(p.Addr())
		}
	}
	for p, ok := s.mux.PollPort(); ok; p, ok = s.mux.PollPort() {
		s.wake(p, self)
	}
}
