package line

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/internal/shell"
	"parley/play/message"
	"parley/protocol/duplex"
	"parley/protocol/realm"
	"parley/protocol/relay"
	"parley/protocol/replica"
	"parley/protocol/stamp"
)

// Conn is one connection of a player, of one dialect. A player who comes back has a new one.
type Conn struct {
	Dialect string
	Resumes bool // it has shown the token of a session

	// The client of the dialect. The others are nil.
	Replica *replica.Client
	Relay   *relay.Client
	Duplex  *duplex.Client
	Realm   *realm.Client
	Stamp   *stamp.Client

	line   *Line
	at     Way
	way    int   // of the Config's, or that of the connection before
	hopped bool  // by a server that was emptied, and not in the Config
	moved  []Way // where this one has told the player to go on; under mu
	reader Reader
	run    func() error                // reads events until there are no more, and returns why
	hang   func(context.Context) error // says goodbye

	entered bool           // the server has let the player in; under mu
	hanging sync.WaitGroup // what run has begun, to end the connection

	// Owned by run, and after it by live.
	began   time.Time
	heard   time.Time // when something was told last
	refused string    // why the server does not let the player in
	ignored bool      // the server did not say whether it does
	other   error     // the server runs another game, or at another pace
	doubt   error     // the answer of Config.Trust to a certificate that is not the server's
	words   string    // the server's last line of chat
	spoken  time.Time // when that came
	ended   time.Time // when there were no more events
}

// Reader reads the events of one dialect. The function of the connection's dialect must be set.
type Reader struct {
	Replica func(replica.Event)
	Relay   func(relay.Event) // a package of the server that is not empty
	Duplex  func(duplex.Event)
	Realm   func(realm.Event)
	Stamp   func(stamp.Event)
}

// dial opens a connection with a pass, and does the dialect's handshake.
func (l *Line) dial(ctx context.Context, to hop, pass []byte) (*Conn, error) {
	c := &Conn{line: l, at: to.Way, way: to.way, hopped: to.told, heard: time.Now()}
	c.Dialect = c.at.Dialect
	c.Resumes = len(pass) > 0 && message.PassKind(pass[0]) == message.PassSession
	join := map[string]func(context.Context, []byte) error{
		"replica": c.joinReplica, "stamp": c.joinStamp, "relay": c.joinRelay, "duplex": c.joinDuplex, "realm": c.joinRealm,
	}[c.Dialect]
	callers := ctx
	ctx, cancel := context.WithTimeout(shell.Answer(ctx, answerPatience), patienceOf[c.Dialect])
	defer cancel()
	if c.hopped {
		if err := c.findTold(ctx, to.from); err != nil {
			return nil, err
		}
	}
	if inBrowser && c.at.Carrier == "" {
		return nil, errNoSockets(c.at)
	}
	if err := join(ctx, pass); err != nil {
		if errors.Is(err, context.DeadlineExceeded) && callers.Err() == nil {
			err = fmt.Errorf("what answers there does not speak %s, or is too busy for it: check the port: %w", c.Dialect, err)
		}
		return nil, c.explain(err)
	}
	c.reader = l.cfg.Read(c)
	return c, nil
}

// explain returns the error of a connection that could not be made, in the words of who dialed.
func (c *Conn) explain(err error) error {
	switch {
	case errors.Is(err, shell.ErrNoAnswer), isNobody(err):
		return fmt.Errorf("client: %w at %v: check the address, and start the server if it is yours: %w", ErrNoServer, c.at, err)
	case c.other != nil:
		return c.other
	case isRefusal(err) && c.Resumes && fateOf(nil, err) == refused:
		return fmt.Errorf("client: %v: the place of this player is not held any more: %w: %w", c.at, ErrRefused, err)
	case isRefusal(err), isShut(err):
		return fmt.Errorf("client: %v: %w: %w", c.at, ErrRefused, err)
	}
	return fmt.Errorf("client: %v: %w", c.at, err)
}

// Way returns where the connection goes.
func (c *Conn) Way() Way { return c.at }

// hears notes that something was told.
func (c *Conn) hears() { c.heard = time.Now() }

// told notes the session of a player who has entered, if it could be read.
func (c *Conn) told(s message.Session, ok bool) {
	if !ok {
		return
	}
	l := c.line
	l.mu.Lock()
	if l.previous = (message.Token{}); c.Resumes {
		l.previous = l.session.Token
	}
	l.session = s
	l.mu.Unlock()
	c.enter()
}

// enter notes that the server has let the player in. A player who was away is back.
func (c *Conn) enter() {
	l := c.line
	l.mu.Lock()
	if c.entered {
		l.mu.Unlock()
		return
	}
	c.entered = true
	back := l.away && !l.leaving
	// "A log-in of an account whose player is away is that player again, without a token."
	n := Notice{Kind: Back, Text: c.Dialect, Same: c.Resumes || c.Dialect == "realm", Absence: c.heard.Sub(l.since)}
	if back {
		l.conn, l.away = c, false
	}
	l.mu.Unlock()
	if back {
		l.tell(n)
	}
}

// isIn reports whether the server has let the player in.
func (c *Conn) isIn() bool {
	c.line.mu.Lock()
	defer c.line.mu.Unlock()
	return c.entered
}

// sees notes that the player is in the world.
func (c *Conn) sees() {
	l := c.line
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.entered {
		l.entered = true
		close(l.in)
	}
}

// hear notes the words of the server, which tell why it ends a connection in dialects whose goodbye has no words.
func (c *Conn) hear(name, text []byte, ok bool) {
	if ok && string(name) == message.ServerName {
		c.words, c.spoken = string(text), time.Now()
	}
}

// hangUp ends a connection, and may be called again.
func (c *Conn) hangUp() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.hang(ctx) // it is given up either way
}

// Say sends a line of chat. It does not wait for the server.
func (c *Conn) Say(text string) error {
	switch {
	case c.Replica != nil:
		return c.Replica.Send(replica.Ordered, message.ReplicaChat, []byte(text))
	case c.Relay != nil:
		return c.Relay.Send(relay.SemiOrdered, relay.ToServer, append([]byte{message.RelaySay}, text...))
	case c.Duplex != nil:
		return c.Query(message.DuplexSay, message.AppendSized(nil, []byte(text)))
	case c.Realm != nil:
		return c.Realm.Say(text)
	}
	return ErrSpectator
}

// past is a context that has ended.
var past = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Query sends a query of duplex, and does not wait for the reply.
func (c *Conn) Query(code uint8, data []byte) error {
	_, _, err := c.Duplex.Query(past, duplex.Main, code, data)
	if errors.Is(err, context.Canceled) && !errors.Is(err, duplex.ErrBusy) {
		return nil
	}
	return err
}
