package line

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/play/message"
	"parley/protocol/realm/core"
	"parley/world"
)

// Dialects are the dialects that Dial supports.
var Dialects = []string{"replica", "stamp", "relay", "duplex", "realm"}

// IsDialect reports whether there is a dialect of that name.
func IsDialect(name string) bool { return slices.Contains(Dialects, name) }

// ports are where servers listen unless they are told otherwise, and playPort where they have carriers of browsers with --play.
var ports = map[string]string{"replica": "7000", "stamp": "7001", "relay": "8082", "duplex": "7004", "realm": "9999"}

const playPort = "8000"

// PortOf returns where a server listens for a dialect unless it is told otherwise, over a carrier or, if that is empty, the dialect's own
// UDP and TCP. It is empty for what is no dialect.
func PortOf(dialect, carrier string) string {
	if carrier != "" && IsDialect(dialect) {
		return playPort
	}
	return ports[dialect]
}

// HasSessions reports whether players of a dialect show passes and are told sessions. Players of realm have accounts, and stamp's
// spectators show nothing.
func HasSessions(dialect string) bool {
	return dialect == "replica" || dialect == "relay" || dialect == "duplex"
}

// Way is where a server can be reached: a dialect, what carries it, and host:port. Carrier is "ws", "wss" or "wt", and empty for the
// dialect's own UDP and TCP.
type Way struct{ Dialect, Carrier, Addr string }

func (w Way) String() string {
	if w.Carrier == "" {
		return w.Dialect + "://" + w.Addr
	}
	return w.Dialect + "+" + w.Carrier + "://" + w.Addr
}

// Config sets up a Line. Ways, Schema and Read are required.
type Config struct {
	// Ways are where the server is. Dial tries them in turn until one lets the player in, and so does a player who comes back, beginning
	// with the one of its lost connection. Another is not tried after a refusal that is about the player, such as a wrong password. Only replica, relay and duplex have the same sessions, so only those can be mixed.
	Ways []Way

	// Game is the name of the game, for errors, and Schema its schema.
	Game   string
	Schema *world.Schema

	// TickRate is the server's tick rate, for realm. Default 20.
	TickRate int

	// Room is the room to enter. Over replica, relay and duplex it must be open, and Name is the name that the player wants there.
	// Default: the room main, and any name.
	Room string

	// Name and Password are those of an account of realm, which is registered if it does not exist. With New, the
	// player registers first, so that it does not fail a log-in.
	Name, Password string
	New            bool

	// Ticket is for a server that wants one, over replica, relay and duplex. Dial uses it up. It says which room and which name,
	// so Room and Name do not count. Default none: the player is a guest.
	Ticket []byte

	// Session is the token of a player whose connection was lost: Dial goes on as that player, over replica, relay or duplex. Then
	// Ticket, Room and Name do not count. Default none.
	Session message.Token

	// Resume says how the player comes back when its connection is lost.
	Resume Resume

	// Plain turns realm's TLS off.
	Plain bool

	// Trust is asked whether a certificate of realm is the server's, with the address as it was written and the certificate's
	// SHA-256 in hex, before anything else is sent. An error ends Dial, and the player does not come back. Default: any certificate
	// is accepted, as servers sign their own. Over wss and wt only a certificate is asked about that no authority vouches for, nor, for
	// wt, the server's page. There the default is that it is refused.
	Trust func(addr, fingerprint string) error

	// Authorities are those that may vouch for a server's certificate and its name, so that Trust is not asked. An empty pool has Trust
	// asked about every certificate. Default: the system's over wss and wt, and none over realm.
	Authorities *x509.CertPool

	// FirstType is the number of the kind that is type 0 in realm. RealmConfig lists the fields that the game adds to
	// realm's config message.
	FirstType   int
	RealmConfig []core.Field

	// Detail makes the events of replica complete: see replica.Config.Detail.
	Detail bool

	// Read returns what reads the events of a new connection. One connection is read at a time, by one goroutine.
	Read func(c *Conn) Reader

	// Notice, if set, is called when the player is away, back, or out of the game, by one goroutine at a time.
	Notice func(Notice)
}

// Notice tells what has become of the connection.
type Notice struct {
	Kind    NoticeKind
	Text    string        // why the connection was lost or ended, in the server's words if it has said so, or the dialect in which the player is back
	Why     error         // Ended: the reason
	Refused bool          // Ended: the server did not let the player back in
	Same    bool          // Back: as the same player, with its entity. Else the player is a new one. Over realm it is that of the account, and whether the entity is a new one is not told
	Absence time.Duration // Back: since the player was told something last
}

// NoticeKind is the kind of a Notice.
type NoticeKind uint8

const (
	Ended NoticeKind = iota + 1 // the player is out of the game. It is the last notice
	Away                        // the connection is lost, and the player is coming back: see Resume
	Back                        // the player is in the game again
	Going                       // the server is emptied, and ends the connection in a moment: what the player sends from now on may be lost. It may come at any time
)

// Line is a player's way into a game: a connection, and the next one when that is lost. Its methods may be called by any goroutine.
type Line struct {
	cfg     Config
	dialect string             // of the first connection
	leave   context.CancelFunc // ends the attempts to come back
	in      chan struct{}      // closed when the server has told its world, or has let in a player whom it tells none
	done    chan struct{}      // closed when the player is out of the game
	telling sync.Mutex         // held while Config.Notice runs
	missed  []error            // of the ways that were tried before the player was in. Owned by Dial, and then by live

	mu       sync.Mutex
	conn     *Conn           // the former one while the player is away
	away     bool            // the connection is lost
	since    time.Time       // away: when the player was told something last
	leaving  bool            // Close was called
	entered  bool            // in is closed
	err      error           // why the player is out of the game
	session  message.Session // as it was told last
	previous message.Token   // the token before that
}

// Dial connects to a game server, and returns when the handshake is done. The player is in the game a moment later: see Entered.
func Dial(ctx context.Context, c Config) (*Line, error) {
	if c.TickRate == 0 {
		c.TickRate = 20
	}
	if c.Notice == nil {
		c.Notice = func(Notice) {}
	}
	if err := check(&c); err != nil {
		return nil, err
	}
	l := &Line{cfg: c, in: make(chan struct{}), done: make(chan struct{})}
	conn, err := l.begin(ctx, 0)
	if err != nil {
		return nil, err
	}
	l.conn, l.dialect = conn, conn.Dialect
	stay, leave := context.WithCancel(context.Background())
	l.leave = leave
	go l.live(stay, conn)
	return l, nil
}

// check finds what no player can do.
func check(c *Config) error {
	if len(c.Ways) == 0 {
		return errors.New("client: no address: write one such as replica://127.0.0.1:7000")
	}
	if c.Room != "" && !message.IsRoomName(c.Room) {
		return fmt.Errorf("client: %q is no name of a room: it has 1 to %d of a-z, 0-9 and -", c.Room, message.MaxRoomName)
	}
	for _, w := range c.Ways {
		if err := checkCarrier(w); err != nil {
			return err
		}
		switch {
		case !IsDialect(w.Dialect):
			return fmt.Errorf("client: there is no dialect %q: write one of %s", w.Dialect, strings.Join(Dialects, ", "))
		case c.Session != (message.Token{}) && !HasSessions(w.Dialect):
			return fmt.Errorf("client: %s has no sessions: leave Session empty, or use replica, relay or duplex", w.Dialect)
		case w.Dialect != c.Ways[0].Dialect && !(HasSessions(w.Dialect) && HasSessions(c.Ways[0].Dialect)):
			return fmt.Errorf("client: a player of %s cannot come back over %s: only replica, relay and duplex have the same sessions", c.Ways[0].Dialect, w.Dialect)
		}
	}
	return nil
}

// begin makes the first connection, over the first way that answers.
func (l *Line) begin(ctx context.Context, from int) (*Conn, error) {
	for i := from; i < len(l.cfg.Ways); i++ {
		conn, err := l.dial(ctx, hop{Way: l.cfg.Ways[i], way: i}, firstPass(&l.cfg, l.cfg.Ways[i].Dialect))
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil || !mayBeElsewhere(nil, err):
			return nil, err
		}
		l.missed = append(l.missed, err)
	}
	return nil, telling(l.missed)
}

// onward makes the next connection, as the server of the first has answered and not let the player in.
func (l *Line) onward(ctx context.Context, c *Conn, why error) (*Conn, error) {
	l.missed = append(l.missed, why)
	next, err := l.begin(ctx, c.way+1)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.conn = next // Close ends it from now on
	leaving := l.leaving
	l.mu.Unlock()
	if leaving {
		next.hangUp()
	}
	return next, nil
}

// telling returns the error that says most about why no way has led into the game: what a server has said, or else that nobody answers.
func telling(list []error) error {
	if len(list) == 1 {
		return list[0]
	}
	for _, err := range list {
		if errors.Is(err, ErrRefused) {
			return err
		}
	}
	for _, err := range list {
		if !isNobody(err) {
			return err
		}
	}
	return errors.Join(list...)
}

// Entered waits until the server has let the player in. If it does not, the error says why. The world of another game than this
// one's is ErrOtherGame.
func (l *Line) Entered(ctx context.Context) error {
	patience := time.NewTimer(enterPatience)
	defer patience.Stop()
	select {
	case <-l.in:
		return nil
	case <-l.done:
		return l.Err()
	case <-ctx.Done():
		return fmt.Errorf("client: %w", ctx.Err())
	case <-patience.C:
	}
	if l.Now().isIn() { // a server that does not tell its world
		return nil
	}
	return fmt.Errorf("client: %w: %s has not let the player in for %v: try again later", ErrRefused, l.Now().at, enterPatience)
}

// Err returns why the player is out of the game, nil while it is in.
func (l *Line) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}

// Session returns the token with which the player can come back if its connection is lost, and for how long its place is then
// held. The token is zero before the server has told it, and in dialects without sessions. It changes when the player comes back.
func (l *Line) Session() (token message.Token, hold time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session.Token, time.Duration(l.session.Hold) * time.Second
}

// Dialect returns the dialect of the first connection.
func (l *Line) Dialect() string { return l.dialect }

// Now returns the present connection. While the player is away it is the lost one.
func (l *Line) Now() *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

// IsAway reports whether the connection is lost.
func (l *Line) IsAway() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.away
}

// Returns reports whether the player comes back when its connection is lost.
func (l *Line) Returns() bool { return l.cfg.Resume.On }

// Close leaves the game. A player who is away is away until its place is no longer held.
func (l *Line) Close(ctx context.Context) error {
	l.mu.Lock()
	l.leaving = true
	conn := l.conn
	l.mu.Unlock()
	l.leave()
	err := conn.hang(ctx)
	<-l.done
	return err
}

// tell calls Config.Notice.
func (l *Line) tell(n Notice) {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.cfg.Notice(n)
}

// end notes that the player is out of the game.
func (l *Line) end(e ending) {
	l.err = e.why
	l.tell(Notice{Kind: Ended, Text: cmp.Or(e.words, e.why.Error()), Why: e.why, Refused: e.refused})
}

// isNobody reports whether an error means that there is no server at an address.
func isNobody(err error) bool {
	var at *net.OpError
	var name *net.DNSError
	return errors.Is(err, ErrNoServer) || errors.As(err, &at) || errors.As(err, &name)
}
