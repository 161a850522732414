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
	"parley/play/keep"
	"parley/world"
)

// Server is a running game. Its methods may be called by any goroutine.
type Server struct {
	hub      *gateway.Hub
	dialects []dialect
	others   []func(context.Context) error // servers that are no part of the world: how they shut down
	accounts *account.Service
	store    account.Store // nil without realm
	shelf    *keep.Shelf   // nil if rooms are not kept
	matches  *matches
	bans     *banBook
	allies   others // of a cluster; nil alone
	log      *scribe.Handler
	cancel   context.CancelFunc
	broken   atomic.Pointer[error] // what the terrain panicked with
	done     chan struct{}
	err      error // valid after done
}

// logPatience is how long the end of a server waits for the last lines of its log to be written.
const logPatience = time.Second

// diskPatience is how long the end of a server waits for rooms to be written: a disk that takes longer has failed. With the
// goodbyes it is less than service managers wait before they kill, which is 30 s and more.
const diskPatience = 15 * time.Second

// dialect is one that listens.
type dialect struct {
	name  string
	addr  netip.AddrPort
	stats func(*Stats) // nil if it has no counters of its own
}

// Player is a player in the game.
type Player struct {
	Room    string
	ID      world.PlayerID // in its room
	Name    string
	Dialect string

	// Away means that the connection is lost and the player's place is held. Dialect is then the last one.
	Away bool

	// Returns means that the player's place is held if the connection is lost: its client has shown that it can come back.
	Returns bool

	// Addr is the address of the player's connection, and Carrier what brings its packets: "udp", "tcp" or "tls". Conn is the number
	// that all lines of the log about the connection have. Of a player who is away they are those of the last connection, and zero if
	// that was before the server was started.
	Addr    netip.AddrPort
	Carrier string
	Conn    uint32

	// Since is when the player joined, or when the server was started if it was in the room before.
	Since time.Time

	// RTT is the round trip to the player, as its dialect measures it, and 0 if that is not known.
	RTT time.Duration

	// Path is what the server knows of the player's network: Rate is the bytes a second that it takes, or 0 if it takes all that
	// there is to say. Queue is how long packets wait on the way, and Budget the bytes that the last tick could use.
	Path gateway.Path

	// Node is the server of a cluster that the player is connected to, "" if that is not known. Addr, Carrier, Conn, RTT, Path and Traffic are what
	// that server says.
	Node string

	here bool // this server is the one to say what it is at

	// Traffic is what has gone over the player's connection so far. It is zero while the player is away.
	Traffic gateway.Traffic
}

// Serve serves a game until ctx ends. It then says goodbye to every client and returns nil. It returns an error if the game
// cannot start, or if the game panics.
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

// Start starts a game and returns. Server.Close ends the game.
func Start(g Game, c Config) (*Server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	bansDir := c.DataDir
	if c.Cluster != nil {
		bansDir = ""
	}
	banned, err := openBans(bansDir)
	if err != nil {
		return nil, err
	}
	s := &Server{bans: banned, log: c.Log.Handler().(*scribe.Handler), done: make(chan struct{})}
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(context.Background())
	config := gateway.Config{
		Browsers: c.Browsers, Proxies: c.Proxies,
		Game: s.contain(g, c.Log), World: world.Config{Seed: c.Seed, Mode: c.Mode}, MaxRooms: c.MaxRooms, Hold: c.Hold, NoMainAccounts: c.NoMainAccounts, TickRate: c.TickRate, Sight: c.Sight, MaxPlayers: c.MaxPlayers, PerAddress: c.PerAddress, Record: c.Record, Banned: s.bans.set.Holds, Chat: c.Chat, Log: c.Log,
	}
	if c.TicketKey != nil {
		if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
			s.cancel()
			return nil, fmt.Errorf("parley: the data folder: %w", err)
		}
		config.TicketKey, config.SpentFile = c.TicketKey, filepath.Join(c.DataDir, spentFile)
	}
	if c.Keep != KeepNothing {
		shelf, err := keep.Open(keep.Config{Dir: c.DataDir, Mode: c.Keep, History: c.KeepHistory, Behind: eventsBehind, Log: c.Log})
		if err != nil {
			s.cancel()
			return nil, fmt.Errorf("parley: %w", err)
		}
		s.shelf, config.Shelf = shelf, shelf
	}
	if c.Cluster != nil {
		config.Cluster = c.Cluster.nodes
		config.Desync = (&desyncs{dir: filepath.Join(c.DataDir, desyncDir), log: c.Log}).write
	}
	hub, err := gateway.New(config)
	if err != nil {
		s.cancel()
		s.closeShelf()
		return nil, err
	}
	s.hub, s.matches = hub, newMatches(s, c.MaxPlayers)
	if c.Cluster != nil {
		s.allies = c.Cluster.join(s)
		err = s.allies.loadBans()
	}
	if err == nil {
		err = s.listen(c)
	}
	if err != nil {
		s.cancel()
		late, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		hub.Shutdown(late)
		s.endAllies()
		s.closeOthers()
		s.closeShelf()
		s.log.Flush(logPatience)
		return nil, err
	}
	go func() {
		defer close(s.done)
		s.err = hub.Run(ctx)
		if why := s.broken.Load(); why != nil {
			s.err = errors.Join(*why, s.err)
		}
		s.endAllies()
		s.closeOthers()
		s.err = errors.Join(s.err, s.closeShelf())
		s.log.Flush(logPatience)
	}()
	if s.allies != nil {
		if err := s.allies.begin(); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// endAllies ends what asks other servers, and waits for it.
func (s *Server) endAllies() {
	if s.allies != nil {
		s.allies.end()
	}
}

// closeShelf waits until rooms are on disk.
func (s *Server) closeShelf() error {
	if s.shelf == nil {
		return nil
	}
	late, cancel := context.WithTimeout(context.Background(), diskPatience)
	defer cancel()
	return s.shelf.Close(late)
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

// Close ends the game: it sends every client a goodbye, and returns when all have received it or some seconds have passed. A
// second call waits for the first. When Step or Terrain calls Close, it returns ErrInStep at once, and the game ends after
// that tick.
func (s *Server) Close() error {
	s.cancel()
	if s.hub.Playing() {
		return ErrInStep
	}
	<-s.done
	return s.err
}

// Done returns a channel that is closed when the game has ended, by Close or by a panic of the game. Close then returns the
// error of the game, if any.
func (s *Server) Done() <-chan struct{} { return s.done }

// Addrs returns the addresses at which the dialects listen. The names are replica, stamp, relay, duplex, duplex-feed, realm and
// realm-time, in that order. Dialects that are off are left out.
func (s *Server) Addrs() (list []Addr) {
	for _, d := range s.dialects {
		list = append(list, Addr{d.name, d.addr})
	}
	return list
}

// Addr is the address at which a dialect listens.
type Addr struct {
	Name string
	Addr netip.AddrPort
}

// Log returns the server's log. Writing to it does not block, so Step may use it.
func (s *Server) Log() *slog.Logger { return slog.New(s.log) }

// Errors of Server's methods. Test for them with errors.Is.
var (
	// ErrClosed means that the game has ended.
	ErrClosed = errors.New("parley: the game has ended")
	// ErrInStep means that Step or Terrain called a method of the server that runs it. That method would wait for the tick to
	// end. Call it from another goroutine, and do not wait for that goroutine.
	ErrInStep = errors.New("parley: Step or Terrain called a method of Server that waits for the tick: call it from another goroutine")
	// ErrNoPlayer means that there is no such player.
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

// Depart says that the client of a session may not come back, as when the tab of a browser is closed: the player's place is held for five seconds instead of
// Config.Hold, which is long enough for a page that is loaded again. The token is the one that the client was told. One that nobody has does nothing. Depart does
// not wait.
func (s *Server) Depart(token [16]byte) { s.hub.Depart(token) }

// Players returns the players of all rooms, by room and in the order of their IDs: in a cluster those of all servers. If some servers do not answer
// within two seconds, it returns the others with ErrSilent.
func (s *Server) Players() ([]Player, error) {
	list, err := s.playersHere()
	if err != nil || s.allies == nil {
		return list, err
	}
	return s.allies.players(list)
}

// playersHere returns the players of the rooms that run on this server.
func (s *Server) playersHere() (list []Player, err error) {
	err = s.do(func() {
		for _, r := range s.hub.Rooms() {
			for _, p := range r.Players() {
				list = append(list, Player{
					Room: r.Name(), ID: p.ID, Name: p.Name, Dialect: p.Dialect, Away: r.IsAway(p), Returns: p.Returns(), here: r.Has(p),
					Addr: p.Addr, Carrier: p.Carrier, Conn: p.Conn, Since: p.Since, RTT: p.RTT(), Path: p.Path(), Traffic: p.Traffic(),
				})
			}
		}
	})
	return list, err
}

// Kick removes a player from a room and tells the player why. It returns ErrNoPlayer if the player is not there.
func (s *Server) Kick(room string, id world.PlayerID, why string) error {
	found, err := s.hub.Kick(room, id, why)
	if !found && (err == nil || errors.Is(err, ErrNoRoom)) {
		return ErrNoPlayer
	}
	return waited(err)
}

// Broadcast sends a chat message to the players of a room, or of all rooms if room is "". It returns an error, and sends nothing,
// if the text is empty, longer than 512 bytes or not UTF-8, and ErrNoRoom if there is no such room.
func (s *Server) Broadcast(room, text string) error {
	return waited(s.hub.Broadcast(room, text))
}
