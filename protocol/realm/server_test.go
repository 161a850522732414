package realm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// place is a server with its game and accounts.
type place struct {
	t        testing.TB
	server   *Server
	game     *testGame
	accounts *memoryAccounts
}

func newPlace(t testing.TB, c ServerConfig) *place {
	t.Helper()
	p := &place{t: t, game: newTestGame(), accounts: newAccounts("ann", "bob", "cyd")}
	c.Accounts = p.accounts
	if c.DataDir == "" {
		c.DataDir = t.TempDir()
	}
	if c.Schema.Attributes == nil {
		c.Schema = testSchema
	}
	var err error
	if p.server, err = Listen("127.0.0.1:0", c, p.game.handle); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.server.Close)
	return p
}

func (p *place) config() ClientConfig {
	return ClientConfig{Config: Config{Schema: testSchema}, Fingerprint: p.server.Fingerprint(), Plain: p.server.Fingerprint() == ""}
}

// dial connects a client.
func (p *place) dial() *Client {
	p.t.Helper()
	c, err := Dial(context.Background(), p.server.Addr().String(), p.config())
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// join connects a client and logs it in.
func (p *place) join(name string) *Client {
	p.t.Helper()
	c := p.dial()
	if code, err := c.Login(context.Background(), name, "password of "+name); err != nil || code != LoginOK {
		p.t.Fatal(code, err)
	}
	return c
}

// do runs fn on the server's loop.
func (p *place) do(fn func(m *Mux)) {
	p.t.Helper()
	if err := p.server.Do(fn); err != nil {
		p.t.Fatal(err)
	}
}

// until reads events until one is what is wanted.
func until(t testing.TB, c *Client, what string, is func(ev Event) bool) Event {
	t.Helper()
	for ev := range c.Events() {
		if is(ev) {
			return ev
		}
		if ev.Kind == EventClosed {
			t.Fatalf("%s: %v", what, ev.Close)
		}
	}
	t.Fatalf("%s: no more events", what)
	return Event{}
}

func isKind(kind Kind) func(Event) bool {
	return func(ev Event) bool { return ev.Kind == EventMessage && ev.Message.Kind == kind }
}

func TestRegisterLoginAndChat(t *testing.T) {
	for _, plain := range []bool{false, true} {
		p := newPlace(t, ServerConfig{Plain: plain})
		ctx := context.Background()
		dee := p.dial()
		if code, err := dee.Login(ctx, "dee", "password of dee"); err != nil || code != LoginUnknownPseudo {
			t.Fatal(code, err)
		}
		if code, err := dee.Register(ctx, "dee", "short"); err != nil || code != RegisterInvalidPassword {
			t.Fatal(code, err)
		}
		if code, err := dee.Register(ctx, "dee", "password of dee"); err != nil || code != RegisterOK {
			t.Fatal(code, err)
		}
		if err := dee.Say("too early"); !errors.Is(err, ErrState) {
			t.Error(err)
		}
		if code, err := dee.Login(ctx, "dee", "password of dee"); err != nil || code != LoginOK {
			t.Fatal(code, err)
		}
		ann := p.join("ann")
		joined := until(t, dee, "ann joins", func(ev Event) bool {
			return ev.Kind == EventMessage && ev.Message.Kind == KindMetaAction && string(ev.Message.Name) == "ann"
		})
		if err := dee.Say("salut é"); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*Client{dee, ann} {
			ev := until(t, c, "chat", isKind(KindChatReceive))
			if string(ev.Message.Text) != "salut é" || ev.Message.ID != 1 {
				t.Errorf("%+v", ev.Message)
			}
		}
		if err := ann.Close(ctx); err != nil {
			t.Error(err)
		}
		until(t, dee, "ann leaves", func(ev Event) bool {
			return ev.Kind == EventMessage && ev.Message.Kind == KindMetaAction && ev.Message.Code == 1 && ev.Message.ID == joined.Message.ID
		})
		eventually(t, "ann is logged out", func() bool { return p.accounts.sessions() == 1 })
	}
}

// A client that pins another certificate does not connect, and the pinned one is kept.
func TestFingerprints(t *testing.T) {
	dir := t.TempDir()
	first := newPlace(t, ServerConfig{DataDir: dir})
	config := first.config()
	config.Fingerprint = strings.Repeat("0", 64)
	if _, err := Dial(context.Background(), first.server.Addr().String(), config); !errors.Is(err, ErrFingerprint) {
		t.Error(err)
	}
	config.Fingerprint = ""
	if _, err := Dial(context.Background(), first.server.Addr().String(), config); err == nil {
		t.Error("a certificate of nobody was trusted")
	}
	if second := newPlace(t, ServerConfig{DataDir: dir}); second.server.Fingerprint() != first.server.Fingerprint() {
		t.Error("the certificate was not kept")
	}
	first.dial()
}

func TestServerTimeAndTicks(t *testing.T) {
	for _, version := range []uint16{9, 10} {
		p := newPlace(t, ServerConfig{})
		config := p.config()
		config.Version = version
		c, err := Dial(context.Background(), p.server.Addr().String(), config)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		if code, err := c.Login(context.Background(), "ann", "password of ann"); err != nil || code != LoginOK {
			t.Fatal(code, err)
		}
		eventually(t, "the clock is set", func() bool {
			_, within := c.ServerTime()
			return within < time.Second
		})
		var at uint64
		var tick uint64
		before, within := c.ServerTime()
		early := c.ServerTick()
		p.do(func(m *Mux) { at, tick = m.Unix(time.Now()), m.Tick(time.Now()) })
		after, _ := c.ServerTime()
		late := c.ServerTick()
		slack := uint64(within.Microseconds())
		if at+slack < before || at > after+slack {
			t.Errorf("version %d: the server's time is %d, and the client has %d to %d within %v", version, at, before, after, within)
		}
		if uint16(tick)+1 < uint16(early) || uint16(tick) > uint16(late)+1 {
			t.Errorf("version %d: the server's tick is %d, and the client has %d to %d", version, tick, early, late)
		}
	}
}
