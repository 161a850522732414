package player

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"

	"parley/account"
	"parley/play/schema"
	"parley/protocol/realm"
	"parley/protocol/realm/core"
	"parley/world"
)

type realmVoice struct {
	*realm.Client
	you *atomic.Uint32
}

func (l *line) joinRealm(ctx context.Context, addr string, _ []byte) error {
	game := schema.Realm(l.cfg.Schema, l.cfg.FirstType)
	game.Config = l.cfg.RealmConfig
	c, err := realm.Dial(ctx, addr, realm.Config{
		Config: core.Config{Schema: game, TickRate: l.cfg.TickRate},
		Plain:  l.cfg.Plain, Fingerprint: l.cfg.Fingerprint, TLS: ownCertificate(&l.cfg, addr),
	})
	if err != nil {
		return err
	}
	v := realmVoice{c, new(atomic.Uint32)}
	l.voice = v
	l.run = func() error {
		l.hears()
		l.enter()
		for ev := range c.Events() {
			if ev.Kind == realm.EventMessage {
				l.hears()
				l.readRealm(ev.Message, v.you)
			}
		}
		return c.Err()
	}
	if err := l.login(ctx, c); err != nil {
		c.Close(ctx)
		return err
	}
	return nil
}

// ownCertificate takes a certificate that nobody vouches for, as a server's own is, if Config.Trust does; a pinned
// one is looked at by its fingerprint.
func ownCertificate(c *Config, addr string) *tls.Config {
	if c.Fingerprint != "" {
		return nil
	}
	own := &tls.Config{InsecureSkipVerify: true}
	if c.Trust != nil {
		own.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errors.New("player: realm shows no certificate")
			}
			print := sha256.Sum256(state.PeerCertificates[0].Raw)
			return c.Trust(addr, hex.EncodeToString(print[:]))
		}
	}
	return own
}

// errTooMany: the server registers nobody now.
var errTooMany = errors.New("player: realm registers no more accounts for this address in this minute: try again in a minute, or start the server with --registrations -1")

// login logs in, and registers if there is no such account.
func (l *line) login(ctx context.Context, c *realm.Client) error {
	var refused error
	if l.cfg.New && !l.isAway() { // who comes back has an account
		if err := l.register(ctx, c); errors.Is(err, errTooMany) {
			refused = err // it may be there from the last time
		} else if err != nil {
			return err
		}
	}
	name := l.cfg.Name
	if l.cfg.Room != "" {
		name += "@" + l.cfg.Room
	}
	code, err := c.Login(ctx, name, l.cfg.Password)
	if err == nil && code == core.LoginUnknownPseudo && !(l.cfg.New && !l.isAway()) {
		if err := l.register(ctx, c); err != nil {
			return err
		}
		code, err = c.Login(ctx, name, l.cfg.Password)
	}
	if err != nil {
		return err
	}
	if code != realm.LoginOK && refused != nil {
		return refused
	}
	if code != realm.LoginOK {
		return &notLetIn{code, fmt.Sprintf("player: realm does not let %q in: %v%s", l.cfg.Name, code, remedyOf(code))}
	}
	return nil
}

// notLetIn is a log-in that was refused.
type notLetIn struct {
	code core.LoginCode
	text string
}

func (e *notLetIn) Error() string { return e.text }

// register makes the account, unless it is there.
func (l *line) register(ctx context.Context, c *realm.Client) error {
	switch code, err := c.Register(ctx, l.cfg.Name, l.cfg.Password); {
	case err != nil:
		return err
	case code == core.RegisterTooManyTries:
		return errTooMany
	case code != realm.RegisterOK && code != core.RegisterUsedPseudo:
		return fmt.Errorf("player: realm does not register %q: %v%s", l.cfg.Name, code, ruleOf(code))
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

// ruleOf says what a player can do about a refused registration. The rules are those of our own servers.
func ruleOf(code core.RegisterCode) string {
	switch code {
	case core.RegisterInvalidPseudo:
		return ": " + account.ErrBadName.Error()
	case core.RegisterInvalidPassword:
		return ": " + account.ErrBadPassword.Error()
	case core.RegisterDisabled:
		return ": ask the operator of the server for an account"
	}
	return ""
}

func (l *line) readRealm(m *core.Message, you *atomic.Uint32) {
	switch m.Kind {
	case core.KindEntityCreate, core.KindEntityUpdate:
		l.learn(func(v *Sight) { l.readBlock(v, &m.Entity) })
	case core.KindEntitiesUpdate:
		l.learn(func(v *Sight) {
			for e := range m.Entities.All() {
				l.readBlock(v, e)
			}
		})
	case core.KindEntityDestroy:
		l.learn(func(v *Sight) { delete(v.Things, m.ID) })
	case core.KindMetaAction:
		l.learn(func(v *Sight) {
			if core.MetaCode(m.Code) == core.MetaPlayerLeft {
				delete(v.Players, m.ID)
				return
			}
			v.Players[m.ID] = string(m.Name)
			if string(m.Name) == l.cfg.Name {
				v.You = m.ID
				you.Store(uint32(m.ID))
			}
		})
	case core.KindChunkUpdate:
		l.readRealmChunk(m.Chunk)
	case core.KindChunksUpdate:
		for c := range m.Chunks.All() {
			l.readRealmChunk(c)
		}
	case core.KindChatReceive:
		name := ""
		l.mu.Lock()
		name = l.sight.Players[m.ID]
		l.mu.Unlock()
		l.tell(Notice{Kind: Said, Name: name, Text: string(m.Text), Entity: m.ID})
	case core.KindActionsDone:
		for d := range m.Actions.All() {
			l.tell(Notice{Kind: Acted, Entity: d.By})
		}
	}
}

func (l *line) readRealmChunk(c core.Chunk) {
	l.keep(world.ChunkPlace{BX: c.BX, BY: c.BY}, func(cells *world.Cells) { c.FillIn((*core.Terrain)(cells)) })
}

// readBlock takes over what a block says.
func (l *line) readBlock(v *Sight, e *core.Entity) {
	t := v.Things[e.ID]
	if e.Has&core.HasType != 0 {
		t.Kind = int(e.Type) + l.cfg.FirstType
	}
	if e.Has&core.HasPosition != 0 {
		t.X, t.Y = world.Place(e.Position.BX, e.Position.BY, e.Position.X, e.Position.Y)
	}
	if e.Has&core.HasSpeedAngle != 0 {
		t.Angle = e.SpeedAngle
	}
	if e.Has&core.HasSpeedNorm != 0 {
		t.Norm = e.SpeedNorm
	}
	v.Things[e.ID] = t
}

func (v realmVoice) steer(angle, norm float32) error {
	return v.Update(core.Entity{ID: uint16(v.you.Load()), Has: core.HasSpeedAngle | core.HasSpeedNorm, SpeedAngle: angle, SpeedNorm: norm})
}

func (v realmVoice) act(a *world.Action, params []world.Value) error {
	var values []core.Value
	var texts []byte
	for i, p := range params {
		if a.Fields[i].Type == world.Entity && p.Uint() == 0 {
			// What the action creates has a number of our own until the server gives it one.
			id, _ := v.Temporary()
			p = world.UintValue(world.Entity, uint64(id))
		}
		values = append(values, schema.ToRealm(&a.Fields[i], p, &texts))
	}
	action, err := v.Codec().Action(uint16(a.Number), values...)
	if err != nil {
		return err
	}
	return v.Act(action)
}

func (v realmVoice) say(_ context.Context, text string) error { return v.Say(text) }
func (v realmVoice) close(ctx context.Context) error          { return v.Close(ctx) }
