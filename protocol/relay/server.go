package relay

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"parley/internal/admission"
	"parley/internal/shell"
	"parley/internal/udp"
)

// ErrServerClosed: the server was closed, or its socket failed.
var ErrServerClosed = errors.New("relay: server closed")

// Logger is what Config.Log takes.
type Logger = slog.Logger

// goodbye is why peers leave when the server closes.
const goodbye = "server closing"

// Server is a Mux at a socket, or at several if its lobby opens more ports. Each port has a
// goroutine, its loop, which holds a lock while it calls the Mux; so the handler is called
// by one at a time. The methods of a Server may be called by any other goroutine; those
// that wait must not be called by the handler or the lobby, which would wait for
// themselves: Do, View, Stats, Shutdown and Close.
type Server struct {
	shell  *shell.Server
	first  *udp.Socket // of the first port
	handle func(p *Peer, ev Event)
	log    *slog.Logger
	listen func() (*udp.Socket, error) // for a further port

	mu      sync.Mutex // over all below, and over the Mux and all that is in it
	mux     *Mux
	loops   map[*Port]*udp.Loop // of the further ports
	stopped []*udp.Loop         // of those that were closed, and may still run
}

// ServerStats is what a server did.
type ServerStats struct {
	Peers int // there are now
	MuxStats
	Traffic Stats         // of all peers, those included that are over
	Socket  udp.Stats     // of the first port
	Loop    udp.LoopStats // likewise
}

// Listen starts a server on addr, written host:port; an empty host is all addresses of the
// machine, and port 0 lets the system choose.
//
// handle is the game: it is called for every event of every peer, one at a time, on a
// loop: while it runs, no package moves, so it must not block. It may keep p and call p.Send,
// p.Room().Say, p.Close and p.Remove whenever it or a function given to Do runs, and at no
// other time. A nil handle ignores all events.
func Listen(addr string, c Config, handle func(p *Peer, ev Event)) (*Server, error) {
	socket, err := udp.Listen(addr, socketConfig)
	if err != nil {
		return nil, fmt.Errorf("relay: %w", err)
	}
	ports := furtherPorts{host: socket.LocalAddr().Addr(), first: c.FirstPort, last: c.LastPort}
	return serve(socket, ports.listen, c, handle), nil
}

// The sockets of a server. One call sends as much as a room of 65 needs for one package,
// "one datagram in, N − 1 out in one system call"; a larger one needs a call for each 64. With more at a time the memory of all those peers would
// not stay in the processor between their packages and the answers (4,000 clients: 4% more CPU with 256).
// A further port is one game's, and there may be thousands. Who sends in trains is rare here, and for
// those each buffer would have 64 KiB.
var (
	socketConfig = udp.Config{Batch: 64, MaxDatagram: 1024, NoGRO: true}
	portConfig   = udp.Config{Batch: 32, MaxDatagram: 1024, NoGRO: true}
)

func serve(socket *udp.Socket, listen func() (*udp.Socket, error), c Config, handle func(*Peer, Event)) *Server {
	var key admission.Key
	cryptorand.Read(key[:])
	log, flush := shell.ServerLog(c.Log, "relay", socket.LocalAddr())
	s := &Server{
		first:  socket,
		handle: handle,
		log:    log,
		listen: listen,
		loops:  map[*Port]*udp.Loop{},
	}
	if handle == nil {
		s.handle = func(*Peer, Event) {}
	}
	s.mux = NewMux(time.Now(), c, &Shared{Rand: shell.Rand()}, key, s)
	s.mux.first.SetNumber(socket.LocalAddr().Port())
	s.log.Info("listening")
	s.shell = shell.Serve(socket, &lockedMux{lockedPort{s, s.mux.first}}, shell.ServerConfig{
		Name: "relay", Events: s.events, Leave: s.leave, Abort: s.abort, Flush: flush,
	})
	return s
}

// Addr returns the address of the first port.
func (s *Server) Addr() netip.AddrPort { return s.shell.Addr() }

// Do runs fn here and now while the loops stand still, and returns when it has run: it is how
// other goroutines reach the Mux, its peers and its rooms, a game's tick for one. What fn sends
// goes out at once after. fn must be short, and neither it nor the handler may call Do. The
// error is ErrServerClosed, and then fn has not run.
func (s *Server) Do(fn func(m *Mux)) error {
	err := s.shell.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		fn(s.mux)
	})
	if err != nil {
		return ErrServerClosed
	}
	return nil
}

// View runs fn here and now, while no loop is at the Mux: to look at it and at what its lobby
// counted, also after Close. fn must not block and must not change anything: no loop would
// know.
func (s *Server) View(fn func(m *Mux)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn(s.mux)
}

// Stats returns the counters, also after Close. Like View it keeps the loops from the Mux, for as long as
// it takes to look at each peer.
func (s *Server) Stats() (st ServerStats) {
	s.View(func(m *Mux) { st.Peers, st.MuxStats, st.Traffic = m.Len(), m.stats, m.Traffic() })
	st.Socket, st.Loop = s.first.Stats(), s.shell.LoopStats()
	return st
}

// Shutdown lets no one in, and closes the server when all that was sent is confirmed and
// everybody was told; those that do not confirm are lost after some 10 s. When ctx ends
// first, that is the error.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.shell.Shutdown(ctx)
	return errors.Join(err, s.closePorts())
}

// Close closes the server at once: everybody is told, but nothing waits for what is
// unconfirmed. The handler still gets each peer's EventLeft. The error is why the socket
// failed, if it did. A second call changes nothing.
func (s *Server) Close() error {
	err := s.shell.Close()
	return errors.Join(err, s.closePorts())
}

// Done is closed when the server is closed or its first port failed. Close then returns why.
func (s *Server) Done() <-chan struct{} { return s.shell.Done() }

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mux.Shutdown(s.mux.now, goodbye)
}

// abort removes all. What they are told goes out with the last turns.
func (s *Server) abort() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mux.Shutdown(s.mux.now, goodbye)
	for p := range s.mux.Peers() {
		p.Remove(Close{Reason: ReasonClosed, Text: goodbye})
	}
}

// events ends a turn of the first port.
func (s *Server) events() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishTurn(s.mux.first)
}

// finishTurn hands the events of a turn to the handler, and wakes the loops of those other
// ports that have got something to do by it. s.mu is held.
func (s *Server) finishTurn(self *Port) {
	for p, ev, ok := s.mux.PollEvent(); ok; p, ev, ok = s.mux.PollEvent() {
		switch ev.Kind {
		case EventJoined:
			s.log.Info("joined", "peer", p.Addr(), "name", p.Name)
		case EventLeft:
			s.log.Info("left", "peer", p.Addr(), "reason", ev.Close.Reason, "text", ev.Close.Text)
		}
		s.handle(p, ev)
	}
	for p, ok := s.mux.PollPort(); ok; p, ok = s.mux.PollPort() {
		s.wake(p, self)
	}
}
