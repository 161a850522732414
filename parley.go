package parley

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"parley/account"
	"parley/internal/scribe"
	"parley/play/gateway"
	"parley/world"
)

// Server is a game that is being served.
type Server struct {
	hub      *gateway.Hub
	dialects []dialect
	others   []func(context.Context) error // servers that are no part of the world: how they shut down
	accounts *account.Service
	store    account.Store // nil without realm
	log      *scribe.Handler
	cancel   context.CancelFunc
	broken   atomic.Pointer[error] // what the terrain panicked with
	done     chan struct{}
	err      error // valid after done
}

// logPatience is how long the end of a server waits for the last lines of its log to be written.
const logPatience = time.Second

// dialect is one that listens.
type dialect struct {
	name  string
	addr  netip.AddrPort
	stats func() any
}

// Player is someone in the game, by whichever dialect.
type Player struct {
	ID      world.PlayerID
	Name    string
	Dialect string
}

// Serve serves a game until ctx ends: every client is then told, and Serve returns nil. It
// is an error if it cannot start, or if the game panics.
func Serve(ctx context.Context, g Game, c Config) error {
	s, err := Start(g, c)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return s.Close()
	case <-s.done:
		return s.err
	}
}

// Start starts to serve a game and returns. Close ends it.
func Start(g Game, c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	s := &Server{log: c.Log.Handler().(*scribe.Handler), done: make(chan struct{})}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	config := gateway.Config{
		Game: s.contain(g, c.Log), World: world.Config{Seed: c.Seed}, TickRate: c.TickRate, Sight: c.Sight, MaxPlayers: c.MaxPlayers, PerAddress: c.PerAddress, Record: c.Record, Log: c.Log,
	}
	if c.TicketKey != nil {
		if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
			s.cancel()
			return nil, fmt.Errorf("parley: the data folder: %w", err)
		}
		config.TicketKey, config.SpentFile = c.TicketKey, filepath.Join(c.DataDir, spentFile)
	}
	hub, err := gateway.New(config)
	if err != nil {
		s.cancel()
		return nil, err
	}
	s.hub = hub
	if err := s.listen(c); err != nil {
		s.cancel()
		late, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		hub.Shutdown(late)
		s.closeOthers()
		s.log.Flush(logPatience)
		return nil, err
	}
	go func() {
		defer close(s.done)
		s.err = hub.Run(ctx)
		if why := s.broken.Load(); why != nil {
			s.err = errors.Join(*why, s.err)
		}
		s.closeOthers()
		s.log.Flush(logPatience)
	}()
	return s, nil
}

// spentFile is where the data folder has the tickets that were used.
const spentFile = "spent-tickets"

// contain has a panic of Terrain end the game in order, as one of Step does: it is also called for what
// clients ask to see, outside of any step.
func (s *Server) contain(g Game, log *slog.Logger) Game {
	terrain := g.Terrain
	if terrain == nil {
		return g
	}
	g.Terrain = func(seed uint64, bx, by int16, cells *world.Cells) {
		defer func() {
			if why := recover(); why != nil {
				log.Error("the game's terrain panicked", "bx", bx, "by", by, "panic", why, "stack", string(debug.Stack()))
				err := fmt.Errorf("parley: the game's terrain panicked at chunk (%d, %d): %v", bx, by, why)
				s.broken.CompareAndSwap(nil, &err)
				s.cancel()
			}
		}()
		terrain(seed, bx, by, cells)
	}
	return g
}

// Close tells every client that the game is over, and returns when all have heard or some
// seconds have passed. A second call waits for the first. Called by Step or Terrain it waits for nothing: the game ends after
// that tick.
func (s *Server) Close() error {
	s.cancel()
	if s.hub.Playing() {
		return ErrInStep
	}
	<-s.done
	return s.err
}

// Done is closed when the game has ended: by Close, or by a panic of the game. Close then
// returns why.
func (s *Server) Done() <-chan struct{} { return s.done }

// Addrs returns where the dialects listen, by name: replica, stamp, relay, duplex,
// duplex-feed, realm and realm-time, in that order and without those that are off.
func (s *Server) Addrs() (list []Addr) {
	for _, d := range s.dialects {
		list = append(list, Addr{d.name, d.addr})
	}
	return list
}

// Addr is where a dialect listens.
type Addr struct {
	Name string
	Addr netip.AddrPort
}

// Stats returns the counters of a dialect's server, as its package has them, with "accounts" an account.Stats, and
// with "log" the counters of the log; nil if there is none.
func (s *Server) Stats(dialect string) any {
	switch {
	case dialect == "accounts" && s.accounts != nil:
		return s.accounts.Stats()
	case dialect == "log":
		return s.log.Stats()
	}
	for _, d := range s.dialects {
		if d.name == dialect && d.stats != nil {
			return d.stats()
		}
	}
	return nil
}

// Log returns the server's own log: it keeps nobody waiting, so a game may use it in Step.
func (s *Server) Log() *slog.Logger { return slog.New(s.log) }

// WorldStats returns the counters of the world and of its ticks.
func (s *Server) WorldStats() gateway.Stats { return s.hub.Stats() }

// Errors of Players, Kick and Broadcast, to be tested with errors.Is.
var (
	// ErrClosed: the game has ended.
	ErrClosed = errors.New("parley: the game has ended")
	// ErrInStep: Step and Terrain cannot call the server that runs them, as it waits for them. Let another goroutine call it, and
	// do not wait for that goroutine.
	ErrInStep = errors.New("parley: a method of Server was called by Step or Terrain")
	// ErrNoPlayer: there is no such player.
	ErrNoPlayer = errors.New("parley: no such player")
)

// do runs fn between two ticks.
func (s *Server) do(fn func()) error {
	switch err := s.hub.Do(fn); {
	case errors.Is(err, gateway.ErrPlaying):
		return ErrInStep
	case err != nil:
		return ErrClosed
	}
	return nil
}

// Players returns who is in the game, in the order of their numbers.
func (s *Server) Players() (list []Player, err error) {
	err = s.do(func() {
		for _, p := range s.hub.Players() {
			list = append(list, Player{p.ID, p.Name, p.Dialect})
		}
	})
	return list, err
}

// Kick has a player leave, and told why.
func (s *Server) Kick(id world.PlayerID, why string) error {
	found := false
	err := s.do(func() { found = s.hub.Kick(id, why) })
	if err == nil && !found {
		return ErrNoPlayer
	}
	return err
}

// Broadcast has all players read something in their chat.
func (s *Server) Broadcast(text string) error {
	return s.do(func() { s.hub.Broadcast(text) })
}
