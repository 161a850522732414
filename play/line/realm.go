package line

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"

	"parley/internal/call"
	"parley/play/message"
	"parley/play/schema"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
)

func (c *Conn) joinRealm(ctx context.Context, _ []byte) error {
	cfg := &c.line.cfg
	game := schema.Realm(cfg.Schema, cfg.FirstType)
	game.Config = cfg.RealmConfig
	ctx, err := c.over(ctx)
	if err != nil {
		return err
	}
	x, err := realm.Dial(ctx, c.at.Addr, realm.Config{
		Config: core.Config{Schema: game, TickRate: cfg.TickRate}, Plain: cfg.Plain, TLS: &tls.Config{InsecureSkipVerify: true, VerifyConnection: c.trust},
	})
	if errors.Is(err, io.EOF) || errors.As(err, new(tls.RecordHeaderError)) {
		return fmt.Errorf("what answers there does not speak realm, or is too busy for it: check the port: %w", err)
	}
	if err != nil {
		return err
	}
	c.Realm, c.hang = x, x.Close
	c.run = func() error {
		c.hears()
		c.enter()
		c.sees()
		pace := pace{rate: uint64(cfg.TickRate)}
		for ev := range x.Events() {
			if ev.Kind == realm.EventMessage {
				c.hears()
				if m := ev.Message; m.Kind == core.KindChatReceive && m.ID == 0 {
					c.hear([]byte(message.ServerName), m.Text, true)
				}
				if ev.Tick > 0 && pace.runsAhead(ev.Tick, x.ServerTick()) {
					c.hurries()
				}
				if c.other != nil || ev.Message.Kind == core.KindEntityCreate && !c.fitsBlock(&ev.Message.Entity) {
					continue
				}
			}
			c.reader.Realm(ev)
		}
		return x.Err()
	}
	if err := c.login(ctx, x); err != nil {
		x.Close(ctx)
		return err
	}
	return nil
}

// hurries ends the connection to a server that makes more ticks a second than the client counts.
func (c *Conn) hurries() {
	if c.other == nil {
		c.other = fmt.Errorf("client: %v makes more than %d ticks a second, which realm does not tell: set Config.TickRate, or --tick-rate, to the server's", c.at, c.line.cfg.TickRate)
		c.hanging.Go(c.hangUp)
	}
}

// trust asks whether the server's certificate is its own. Nobody vouches for one that a server has signed itself, so that is
// the player's to say.
func (c *Conn) trust(state tls.ConnectionState) error {
	if c.line.cfg.Trust == nil {
		return nil
	}
	if known := c.line.cfg.Authorities; known != nil {
		host, _, _ := net.SplitHostPort(c.at.Addr)
		if call.Vouched(state, host, known) == nil {
			return nil
		}
	}
	if len(state.PeerCertificates) == 0 {
		return &distrust{errors.New("client: the server has no certificate")}
	}
	sum := sha256.Sum256(state.PeerCertificates[0].Raw)
	if err := c.line.cfg.Trust(c.at.Addr, hex.EncodeToString(sum[:])); err != nil {
		return &distrust{err}
	}
	return nil
}

// distrust is the answer of Config.Trust to a certificate that is not the server's.
type distrust struct{ error }

func (d *distrust) Unwrap() error { return d.error }

// errTooMany: the server registers nobody now.
var errTooMany = &notLetIn{core.LoginTooManyTries, "realm registers no more accounts for this address in this minute: try again in a minute, or start the server with --registrations -1"}

// login logs in, and registers if there is no such account.
func (c *Conn) login(ctx context.Context, x *realm.Client) error {
	var refused error
	if c.line.cfg.New && !c.line.IsAway() { // who comes back has an account
		if err := c.register(ctx, x); errors.Is(err, errTooMany) {
			refused = err // it may be there from the last time
		} else if err != nil {
			return err
		}
	}
	name := c.line.cfg.Name
	if c.line.cfg.Room != "" {
		name += "@" + c.line.cfg.Room
	}
	code, err := x.Login(ctx, name, c.line.cfg.Password)
	if err == nil && code == core.LoginUnknownPseudo && !(c.line.cfg.New && !c.line.IsAway()) {
		if err := c.register(ctx, x); err != nil {
			return err
		}
		code, err = x.Login(ctx, name, c.line.cfg.Password)
	}
	if err != nil {
		return err
	}
	if code != realm.LoginOK && refused != nil {
		return refused
	}
	if code == core.LoginUnknownPseudo && c.line.cfg.Room != "" { // the account is there by now
		return &notLetIn{code, fmt.Sprintf("there is no room %q for %q: leave it out, or write one that is open", c.line.cfg.Room, c.line.cfg.Name)}
	}
	if code != realm.LoginOK {
		return &notLetIn{code, fmt.Sprintf("realm does not let %q in: %v%s", c.line.cfg.Name, code, remedyOf(code))}
	}
	return nil
}

// notLetIn is a log-in that was refused, or a registration before it.
type notLetIn struct {
	code core.LoginCode
	text string
}

func (e *notLetIn) Error() string { return e.text }

// register makes the account, unless it is there.
func (c *Conn) register(ctx context.Context, x *realm.Client) error {
	switch code, err := x.Register(ctx, c.line.cfg.Name, c.line.cfg.Password); {
	case err != nil:
		return err
	case code == core.RegisterTooManyTries:
		return errTooMany
	case code != realm.RegisterOK && code != core.RegisterUsedPseudo:
		return &notLetIn{core.LoginUnknownPseudo, fmt.Sprintf("realm does not register %q: %v%s", c.line.cfg.Name, code, ruleOf(code))}
	}
	return nil
}

// remedyOf says what a player can do about a refused log-in.
func remedyOf(code core.LoginCode) string {
	switch code {
	case core.LoginWrongPassword:
		return ": the account has another password; check it, or choose another name"
	case core.LoginTooManyTries:
		return ": try again in a minute"
	case core.LoginAlreadyConnected:
		return ": the account is in the game already; leave there first"
	case core.LoginPlayerLimitReached:
		return ": the game is full; try again later"
	}
	return ""
}

// The rules of our own servers' accounts, in their own words: package account brings a store along, which no client needs.
const (
	badName     = "a name has 3 to 32 letters, digits, _ and -"
	badPassword = "a password has 8 to 128 bytes"
)

// ruleOf says what a player can do about a refused registration. The rules are those of our own servers.
func ruleOf(code core.RegisterCode) string {
	switch code {
	case core.RegisterInvalidPseudo:
		return ": " + badName
	case core.RegisterInvalidPassword:
		return ": " + badPassword
	case core.RegisterDisabled:
		return ": ask the operator of the server for an account"
	}
	return ""
}
