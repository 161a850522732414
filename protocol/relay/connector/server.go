package connector

import (
	"context"
	cryptorand "crypto/rand"
	"net/netip"
	"time"

	"parley/protocol/relay"
	"parley/protocol/relay/core"
)

// DefaultAddr is the main port to which the game's clients connect, on all addresses of the
// machine.
const DefaultAddr = ":8082"

// ErrServerClosed means that the server was closed, or its socket failed.
var ErrServerClosed = relay.ErrServerClosed

// Server is a relay server with the connector lobby: a socket for the main port and one for each
// game. Its methods may be called by any goroutine.
type Server struct {
	relay *relay.Server
	lobby *Lobby
}

// ServerStats are the counters of a server.
type ServerStats struct {
	Games      int // current games
	Players    int // players of all games
	Peers      int // known addresses, at all ports
	Lobby      Stats
	Mux        core.MuxStats
	Traffic    core.Stats // of all peers, ended ones included
	RoundTrips core.Times // of all peers
	Banned     uint64     // datagrams of banned addresses, at all ports: see Config.Banned
}

// Listen starts a server whose main port is addr, written host:port; if empty, it is
// DefaultAddr. An empty host means all addresses of the machine. With port 0 the system chooses
// the port. Games are at the same host.
func Listen(addr string, c Config) (*Server, error) {
	if addr == "" {
		addr = DefaultAddr
	}
	var key core.Key
	cryptorand.Read(key[:])
	l := NewLobby(c, key)
	s, err := relay.Listen(addr, l.serverConfig(), nil)
	if err != nil {
		return nil, err
	}
	return &Server{relay: s, lobby: l}, nil
}

// Addr returns the address of the main port.
func (s *Server) Addr() netip.AddrPort { return s.relay.Addr() }

// Stats returns the counters. It works after Close, too.
func (s *Server) Stats() (st ServerStats) {
	r := s.relay.Stats()
	st = ServerStats{Peers: r.Conns, Mux: r.Mux, Traffic: r.Traffic, RoundTrips: r.RoundTrips, Banned: r.Loop.Banned}
	s.relay.View(func() { st.Games, st.Players, st.Lobby = s.lobby.Games(), s.lobby.Players(), s.lobby.Stats() })
	return st
}

// Shutdown tells every player that it is out of its game, and opens no more games. It closes the
// server when all have confirmed. Players that do not confirm are given up after some 10 s. If
// ctx ends first, Shutdown closes the server and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.dismiss(core.SemiOrdered)
	return s.relay.Shutdown(ctx)
}

// Close closes the server at once: every player is told, but Close does not wait for
// confirmations. If a socket failed, Close returns its error. A second call has no effect.
func (s *Server) Close() error {
	s.dismiss(core.Unreliable)
	return s.relay.Close()
}

// Done returns a channel that is closed when the server is closed or its main port fails. Close
// then returns the error.
func (s *Server) Done() <-chan struct{} { return s.relay.Done() }

func (s *Server) dismiss(mode core.Mode) {
	_ = s.relay.Do(func() { s.lobby.dismiss(time.Now(), mode) }) // fails when it is closed already
}
