package bots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/play/line"
	"parley/play/message"
	"parley/protocol/realm/core"
	"parley/world"
)

// Dialects are the dialects that Join supports.
var Dialects = line.Dialects

// Config sets up a Player.
type Config struct {
	// Schema is the game's schema, and Game its name, for errors.
	Schema *world.Schema
	Game   string

	// TickRate is the server's tick rate. Default 20.
	TickRate int

	// Pace is a factor for the norms of Steer, for a server whose entities move fewer cells a tick. Default 1.
	Pace float32

	// These are as in line.Config.
	Room           string
	Name, Password string
	New            bool
	Ticket         []byte
	Session        message.Token
	Resume         line.Resume
	Plain          bool
	Trust          func(addr, fingerprint string) error
	FirstType      int
	RealmConfig    []core.Field

	// Carrier is what carries the dialect: see line.Way. Default: its own UDP and TCP.
	Carrier string

	// Ways are where the player tries to come back when its connection is lost and where it was does not answer.
	Ways []line.Way

	// Stamped has the player say with each input for which tick it is meant, as players who predict do. The server then tells it
	// what becomes of its inputs, with each tick.
	Stamped bool

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
	Refused bool          // as in line.Notice
	Same    bool          // as in line.Notice
	Absence time.Duration // as in line.Notice
}

// NoticeKind is the kind of a Notice.
type NoticeKind uint8

const (
	Said    NoticeKind = iota + 1 // a line of chat
	Acted                         // somebody in sight did something
	Updated                       // something in sight is new or has changed
	Ended                         // the player is out of the game. It is the last notice
	Away                          // the connection is lost, and the player is coming back: see Config.Resume
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
}

// memory is a dialect's client that keeps what it was told: it is asked when somebody looks.
type memory interface {
	recall(v *Sight)
	own() (Thing, bool)
}

// Player is a client that keeps what it was told last, and draws nothing: a thousand of them are cheap. Its methods may be called
// by any goroutine.
type Player struct {
	Dialect string // of its first connection
	cfg     Config
	line    *line.Line
	telling sync.Mutex // held while Config.Notice runs

	mu    sync.Mutex
	ear   *ear      // of the connection, the former one while the player is away
	going time.Time // until when the server may end the connection, which is emptied
	next  *ear      // of the newest connection, which may not have let the player in yet
}

var (
	// ErrRefused means that the server did not do what a player of duplex asked for. The other dialects do not say so.
	ErrRefused = errors.New("bots: the server refused it")

	// ErrAway means that the connection is lost, and that the player is coming back.
	ErrAway = errors.New("bots: the connection is lost, and the player is coming back")

	// ErrSpectator means that clients of this dialect can only watch.
	ErrSpectator = line.ErrSpectator
)

// Join connects to a game server, and returns when the handshake is done. The player is in the game a moment later, which
// See shows.
func Join(ctx context.Context, dialect, addr string, c Config) (*Player, error) {
	if c.Notice == nil {
		c.Notice = func(Notice) {}
	}
	p := &Player{Dialect: dialect, cfg: c}
	if c.Room == "" && line.HasSessions(dialect) { // any name will do: players of several dialects may have the same in their Config
		c.Name = ""
	}
	l, err := line.Dial(ctx, line.Config{
		Ways: append([]line.Way{{Dialect: dialect, Carrier: c.Carrier, Addr: addr}}, c.Ways...), Game: c.Game, Schema: c.Schema, TickRate: c.TickRate, Room: c.Room, Name: c.Name, Password: c.Password,
		New: c.New, Ticket: c.Ticket, Session: c.Session, Resume: c.Resume, Plain: c.Plain, Trust: c.Trust, FirstType: c.FirstType, RealmConfig: c.RealmConfig,
		Read: p.listen, Notice: p.connection,
	})
	if c.joined != nil {
		c.joined()
	}
	if err != nil {
		return nil, err
	}
	p.line = l
	return p, nil
}

// connection tells what has become of the connection.
func (p *Player) connection(n line.Notice) {
	p.mu.Lock()
	switch n.Kind {
	case line.Going:
		p.going = time.Now().Add(goingTime)
		p.mu.Unlock()
		return
	case line.Back:
		p.going = time.Time{}
		p.next.sight.Updates += p.ear.sight.Updates
		p.ear = p.next
	}
	p.mu.Unlock()
	if n.Why != nil { // with the dialect's own words
		n.Text = n.Why.Error()
	}
	kind := map[line.NoticeKind]NoticeKind{line.Ended: Ended, line.Away: Away, line.Back: Back}[n.Kind]
	p.tell(Notice{Kind: kind, Text: n.Text, Refused: n.Refused, Same: n.Same, Absence: n.Absence})
}

// Session returns the token with which the player can come back: see line.Line.Session.
func (p *Player) Session() (token message.Token, hold time.Duration) { return p.line.Session() }

// Speaks returns the dialect of the present connection.
func (p *Player) Speaks() string { return p.line.Now().Dialect }

// Way returns where the present connection goes. While the player is away it is the lost one.
func (p *Player) Way() line.Way { return p.line.Now().Way() }

// now returns what listens to the present connection.
func (p *Player) now() *ear {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ear
}

// Steer moves the player's own entity in a direction, in radians, at a number of cells a tick.
func (p *Player) Steer(angle, norm float32) error {
	return p.sent(p.now().voice.steer(angle, norm*cmp.Or(p.cfg.Pace, 1)))
}

// sent returns the error of something that was sent.
func (p *Player) sent(err error) error {
	if p.cfg.Resume.On && line.IsClosed(err) {
		return ErrAway
	}
	return err
}

// Act does an action of the game.
func (p *Player) Act(a *world.Action, params ...world.Value) error {
	if len(params) != len(a.Fields) {
		return fmt.Errorf("bots: %s has %d parameters, not %d", a.Name, len(a.Fields), len(params))
	}
	if p.goes() {
		return ErrAway
	}
	return p.sent(p.now().voice.act(a, params))
}

// Say sends a line of chat to all players.
func (p *Player) Say(ctx context.Context, text string) error {
	if p.goes() {
		return ErrAway
	}
	return p.sent(p.now().voice.say(ctx, text))
}

// goingTime is how long a player says nothing to a server that is emptied: what it says may be lost.
const goingTime = 2 * time.Second

// goes reports whether the connection ends in a moment.
func (p *Player) goes() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.going)
}

// See calls look with what the player knows. v is valid until look returns.
func (p *Player) See(look func(v *Sight)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.ear
	if e.stale {
		e.stale = false
		e.memory.recall(&e.sight)
	}
	look(&e.sight)
}

// Own returns the player's own entity, if it is in sight. It costs less than See.
func (p *Player) Own() (Thing, bool) {
	e := p.now()
	if e.memory != nil {
		return e.memory.own()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := e.sight.Things[e.sight.You]
	return t, ok
}

// Close leaves the game. A player who is away is away until its place is no longer held.
func (p *Player) Close(ctx context.Context) error { return p.line.Close(ctx) }

// tell calls Config.Notice.
func (p *Player) tell(n Notice) {
	p.telling.Lock()
	defer p.telling.Unlock()
	p.cfg.Notice(n)
}
