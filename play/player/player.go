package player

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/play/message"
	"parley/protocol/realm/core"
	"parley/world"
)

// Dialects are the dialects that Join supports.
var Dialects = []string{"replica", "stamp", "relay", "duplex", "realm"}

// ErrSpectator means that clients of this dialect can only watch.
var ErrSpectator = errors.New("player: stamp has spectators only")

// Config sets up a Player.
type Config struct {
	// Schema is the game's schema.
	Schema *world.Schema

	// TickRate is the server's tick rate. Default 20.
	TickRate int

	// Pace is a factor for the norms of Steer, for a server whose entities move fewer cells a tick. Default 1.
	Pace float32

	// Room is the room to enter. Over replica, relay and duplex it must be open, and Name is the name that the player wants there.
	// Default: the room main, and any name.
	Room string

	// Name and Password are those of an account of realm, which is registered if it does not exist. With New, the
	// player registers first, so that it does not fail a log-in.
	Name, Password string
	New            bool

	// Ticket is for a server that wants one, over replica, relay and duplex. Join uses it up. It says which room and which name,
	// so Room and Name do not count. Default none: the player is a guest.
	Ticket []byte

	// Session is the token of a player whose connection was lost: Join goes on as that player, over replica, relay or duplex. Then
	// Ticket, Room and Name do not count. Default none.
	Session message.Token

	// Resume says how the player comes back when its connection is lost.
	Resume Resume

	// Plain turns realm's TLS off. Fingerprint pins its certificate. Without a fingerprint, Trust is asked with the server's address
	// and the SHA-256 of its certificate, in hex, before anything is sent. Without both any certificate is accepted, as servers sign
	// their own.
	Plain       bool
	Fingerprint string
	Trust       func(addr, fingerprint string) error

	// FirstType is the number of the kind that is type 0 in realm. RealmConfig lists the fields that the game adds to
	// realm's config message.
	FirstType   int
	RealmConfig []core.Field

	// Land makes the player keep the terrain that it is sent, at 64 KiB a chunk.
	Land bool

	// Notice, if set, is called for each notice, by one goroutine at a time.
	Notice func(Notice)

	joined func() // called when Join is done, either way
}

// Notice is something that happened.
type Notice struct {
	Kind    NoticeKind
	Name    string        // the speaker, if the dialect tells
	Text    string        // the line of chat, the reason why the connection ended or was lost, or the dialect in which the player is back
	Entity  uint16        // the actor, if the dialect tells by number
	Refused bool          // Ended: the server did not let the player back in
	Same    bool          // Back: as the same player, with its entity. Else the player is a new one. Over realm it is that of the account, and whether the entity is a new one is not told
	Absence time.Duration // Back: since the player was told something last
}

// NoticeKind is the kind of a Notice.
type NoticeKind uint8

const (
	Said    NoticeKind = iota + 1 // a line of chat
	Acted                         // somebody in sight did something
	Updated                       // something in sight is new or has changed
	Ended                         // the player is out of the game. It is the last notice
	Away                          // the connection is lost, and the player is coming back: see Resume
	Back                          // the player is in the game again
)

// Thing is an entity in sight.
type Thing struct {
	Kind  int // its number
	X, Y  float64
	Angle float32
	Norm  float32
}

// Sight is what a player knows of the world.
type Sight struct {
	You     uint16 // the number of its own entity; 0 if it has none, or does not know it yet
	Things  map[uint16]Thing
	Players map[uint16]string // names, if the dialect tells them
	Land    map[world.ChunkPlace]*world.Cells
	Updates uint64 // the number of updates
}

// voice is what a dialect's client can do.
type voice interface {
	steer(angle, norm float32) error
	act(a *world.Action, params []world.Value) error
	say(ctx context.Context, text string) error
	// explore asks for a chunk; in a dialect with answers it is the answer, else it comes later.
	explore(ctx context.Context, at world.ChunkPlace) ([]byte, error)
	close(ctx context.Context) error
}

// memory is a dialect's client that keeps what it was told: it is asked when somebody looks.
type memory interface {
	recall(v *Sight)
	own() (Thing, bool)
}

// Player is a client. Its methods may be called by any goroutine.
type Player struct {
	Dialect string // of its first connection
	cfg     Config
	first   Way                // where Join connected
	leave   context.CancelFunc // ends the attempts to come back
	done    chan struct{}      // closed when the player is out of the game
	telling sync.Mutex         // held while Config.Notice runs

	mu       sync.Mutex
	line     *line           // the connection, the former one while the player is away
	away     bool            // the connection is lost
	since    time.Time       // away: when the player was told something last
	leaving  bool            // Close was called
	session  message.Session // as it was told last
	previous message.Token   // the token before that
}

// ErrRefused means that the server did not do what a player of duplex asked for. The other dialects do not say so.
var ErrRefused = errors.New("player: the server refused it")

// ErrAway means that the connection is lost, and that the player is coming back.
var ErrAway = errors.New("player: the connection is lost, and the player is coming back")

// Join connects to a game server, and returns when the handshake is done. The player is in the game a moment later, which
// See shows.
func Join(ctx context.Context, dialect, addr string, c Config) (*Player, error) {
	if c.TickRate == 0 {
		c.TickRate = 20
	}
	if c.Notice == nil {
		c.Notice = func(Notice) {}
	}
	p := &Player{Dialect: dialect, cfg: c, first: Way{dialect, addr}, done: make(chan struct{})}
	if err := p.check(); err != nil {
		return nil, err
	}
	l, err := p.dial(ctx, p.first, p.firstPass())
	if c.joined != nil {
		c.joined()
	}
	if err != nil {
		return nil, err
	}
	p.line = l
	stay, leave := context.WithCancel(context.Background())
	p.leave = leave
	go p.live(stay, l)
	return p, nil
}

// check finds what no player can do.
func (p *Player) check() error {
	c := &p.cfg
	if !IsDialect(p.Dialect) {
		return fmt.Errorf("player: there is no dialect %q", p.Dialect)
	}
	if c.Room != "" && !message.IsRoomName(c.Room) {
		return fmt.Errorf("player: %q is no name of a room: it has 1 to %d of a-z, 0-9 and -", c.Room, message.MaxRoomName)
	}
	if c.Session != (message.Token{}) && !TakesTicket(p.Dialect) {
		return fmt.Errorf("player: %s has no sessions", p.Dialect)
	}
	for _, w := range c.Resume.Ways {
		if !TakesTicket(w.Dialect) || !TakesTicket(p.Dialect) {
			return fmt.Errorf("player: a player of %s cannot come back over %s: only replica, relay and duplex have sessions", p.Dialect, w.Dialect)
		}
	}
	return nil
}

// Session returns the token with which the player can come back if its connection is lost, and for how long its place is then
// held. The token is zero before the server has told it, and in dialects without sessions. It changes when the player comes back.
func (p *Player) Session() (token message.Token, hold time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session.Token, time.Duration(p.session.Hold) * time.Second
}

// Speaks returns the dialect of the present connection.
func (p *Player) Speaks() string { return p.now().dialect }

// now returns the present connection.
func (p *Player) now() *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line
}

// Steer moves the player's own entity in a direction, in radians, at a number of cells a tick.
func (p *Player) Steer(angle, norm float32) error {
	return p.sent(p.now().voice.steer(angle, norm*cmp.Or(p.cfg.Pace, 1)))
}

// sent returns the error of something that was sent.
func (p *Player) sent(err error) error {
	if p.cfg.Resume.On && isClosed(err) {
		return ErrAway
	}
	return err
}

// Act does an action of the game.
func (p *Player) Act(a *world.Action, params ...world.Value) error {
	if len(params) != len(a.Fields) {
		return fmt.Errorf("player: %s has %d parameters, not %d", a.Name, len(a.Fields), len(params))
	}
	return p.sent(p.now().voice.act(a, params))
}

// Say sends a line of chat to all players.
func (p *Player) Say(ctx context.Context, text string) error {
	return p.sent(p.now().voice.say(ctx, text))
}

// See calls look with what the player knows. v is valid until look returns.
func (p *Player) See(look func(v *Sight)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.line
	if l.stale {
		l.stale = false
		l.memory.recall(&l.sight)
	}
	look(&l.sight)
}

// Own returns the player's own entity, if it is in sight. It costs less than See.
func (p *Player) Own() (Thing, bool) {
	l := p.now()
	if l.memory != nil {
		return l.memory.own()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := l.sight.Things[l.sight.You]
	return t, ok
}

// Close leaves the game. A player who is away is away until its place is no longer held.
func (p *Player) Close(ctx context.Context) error {
	p.mu.Lock()
	p.leaving = true
	l := p.line
	p.mu.Unlock()
	p.leave()
	err := l.voice.close(ctx)
	<-p.done
	return err
}

// tell calls Config.Notice.
func (p *Player) tell(n Notice) {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.cfg.Notice(n)
}

// IsDialect reports whether there is a dialect of that name.
func IsDialect(name string) bool { return slices.Contains(Dialects, name) }

// TakesTicket reports whether players of a dialect show tickets. Players of realm have accounts, and stamp's spectators
// show nothing.
func TakesTicket(dialect string) bool {
	return dialect == "replica" || dialect == "relay" || dialect == "duplex"
}
