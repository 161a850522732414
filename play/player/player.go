package player

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

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

	// Name and Password are those of an account of realm, which is registered if it does not exist. With New, the
	// player registers first, so that it does not fail a log-in.
	Name, Password string
	New            bool

	// Ticket is for a server that wants one, over replica, relay and duplex. Join uses it up. Default none: the player is a
	// guest.
	Ticket []byte

	// Plain turns realm's TLS off. Fingerprint pins its certificate. Without a fingerprint, any certificate is
	// accepted, as servers sign their own.
	Plain       bool
	Fingerprint string

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
	Kind   NoticeKind
	Name   string // the speaker, if the dialect tells
	Text   string // the line of chat, or the reason why the connection ended
	Entity uint16 // the actor, if the dialect tells by number
}

// NoticeKind is the kind of a Notice.
type NoticeKind uint8

const (
	Said    NoticeKind = iota + 1 // a line of chat
	Acted                         // somebody in sight did something
	Updated                       // something in sight is new or has changed
	Ended                         // the connection has ended
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
	Dialect string
	cfg     Config
	voice   voice

	memory memory // nil if the dialect's client has none

	mu    sync.Mutex
	sight Sight
	stale bool          // memory has more
	done  chan struct{} // closed when all events were read
}

// Join connects to a game server, and returns when the handshake is done. The player is in the game a moment later, which
// See shows.
func Join(ctx context.Context, dialect, addr string, c Config) (*Player, error) {
	if c.TickRate == 0 {
		c.TickRate = 20
	}
	if c.Notice == nil {
		c.Notice = func(Notice) {}
	}
	p := &Player{Dialect: dialect, cfg: c, done: make(chan struct{})}
	p.sight.Things, p.sight.Players = map[uint16]Thing{}, map[uint16]string{}
	join := map[string]func(context.Context, string) error{
		"replica": p.joinReplica, "stamp": p.joinStamp, "relay": p.joinRelay, "duplex": p.joinDuplex, "realm": p.joinRealm,
	}[dialect]
	if join == nil {
		return nil, fmt.Errorf("player: there is no dialect %q", dialect)
	}
	err := join(ctx, addr)
	if c.joined != nil {
		c.joined()
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Steer moves the player's own entity in a direction, in radians, at a number of cells a tick.
func (p *Player) Steer(angle, norm float32) error {
	return p.voice.steer(angle, norm*cmp.Or(p.cfg.Pace, 1))
}

// Act does an action of the game.
func (p *Player) Act(a *world.Action, params ...world.Value) error {
	if len(params) != len(a.Fields) {
		return fmt.Errorf("player: %s has %d parameters, not %d", a.Name, len(a.Fields), len(params))
	}
	return p.voice.act(a, params)
}

// Say sends a line of chat to all players.
func (p *Player) Say(ctx context.Context, text string) error { return p.voice.say(ctx, text) }

// See calls look with what the player knows. v is valid until look returns.
func (p *Player) See(look func(v *Sight)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stale {
		p.stale = false
		p.memory.recall(&p.sight)
	}
	look(&p.sight)
}

// Own returns the player's own entity, if it is in sight. It costs less than See.
func (p *Player) Own() (Thing, bool) {
	if p.memory != nil {
		return p.memory.own()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.sight.Things[p.sight.You]
	return t, ok
}

// Close leaves the game.
func (p *Player) Close(ctx context.Context) error {
	err := p.voice.close(ctx)
	<-p.done
	return err
}

// follow reads events until there are no more.
func (p *Player) follow(read func()) {
	go func() {
		defer close(p.done)
		read()
	}()
}

// learn changes what is known, and tells that something was told.
func (p *Player) learn(change func(v *Sight)) {
	p.mu.Lock()
	change(&p.sight)
	p.sight.Updates++
	p.mu.Unlock()
	p.cfg.Notice(Notice{Kind: Updated})
}

// put notes an entity of which b has all fields, in the order of the schema; a body's come first.
func (v *Sight) put(id uint16, k *world.Kind, b []byte, o world.Order) {
	t := Thing{Kind: k.Number}
	if k.HasBody {
		var body [world.FieldNorm + 1]world.Value
		if _, ok := message.ParseFields(body[:], k.Fields[:len(body)], b, o); !ok {
			return
		}
		t.X, t.Y = body[world.FieldX].Float(), body[world.FieldY].Float()
		t.Angle, t.Norm = float32(body[world.FieldAngle].Float()), float32(body[world.FieldNorm].Float())
	}
	v.Things[id] = t
}

// readRecords reads what stamp and relay say of entities.
func (p *Player) readRecords(b []byte, o world.Order) {
	p.learn(func(v *Sight) {
		for rec := range message.Records(b, o) {
			if len(rec.Fields) == 0 {
				delete(v.Things, rec.Entity)
			} else if k := p.cfg.Schema.Kind(rec.Kind); k != nil {
				v.put(rec.Entity, k, rec.Fields, o)
			}
		}
	})
}

// hear tells of a line of chat, if it could be read.
func (p *Player) hear(name, text []byte, ok bool) {
	if ok {
		p.cfg.Notice(Notice{Kind: Said, Name: string(name), Text: string(text)})
	}
}

// watch tells of an action that was done, if it could be read.
func (p *Player) watch(d message.Done, ok bool) {
	if ok {
		p.cfg.Notice(Notice{Kind: Acted, Entity: d.Entity})
	}
}

// IsDialect reports whether there is a dialect of that name.
func IsDialect(name string) bool { return slices.Contains(Dialects, name) }

// TakesTicket reports whether players of a dialect show tickets. Players of realm have accounts, and stamp's spectators
// show nothing.
func TakesTicket(dialect string) bool {
	return dialect == "replica" || dialect == "relay" || dialect == "duplex"
}
