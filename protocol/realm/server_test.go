package realm

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/shell"
	"parley/internal/shell/shelltest"
	"parley/internal/stream"
	"parley/protocol/realm/core"
)

// patientConfig is for servers whose deadlines a test does not wait for: a busy machine may run nothing of it for ten seconds.
var patientConfig = core.Config{VersionWithin: time.Hour, LoginWithin: time.Hour, Timeout: time.Hour}

// place is a server with its game and accounts.
type place struct {
	t        testing.TB
	server   *Server
	game     *testGame
	accounts *memoryAccounts
}

func newPlace(t testing.TB, c Config) *place {
	t.Helper()
	return newPlaceOver(t, c, stream.Serve)
}

func newPlaceOver(t testing.TB, c Config, carry func(net.Listener, stream.Config) stream.Carrier) *place {
	t.Helper()
	patient.Test(t)
	p := &place{t: t, game: newTestGame(), accounts: newAccounts("ann", "bob", "cyd")}
	c.Accounts = p.accounts
	if c.DataDir == "" {
		c.DataDir = t.TempDir()
	}
	if c.Schema.Attributes == nil {
		c.Schema = testSchema
	}
	if c.WaitingPerAddress == 0 {
		c.WaitingPerAddress = -1 // all clients have one address here
	}
	var err error
	if p.server, err = listen("127.0.0.1:0", carry, c, p.game.handle); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.server.Close)
	return p
}

func (p *place) config() Config {
	return Config{Config: core.Config{Schema: testSchema}, Fingerprint: p.server.Fingerprint(), Plain: p.server.Fingerprint() == ""}
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
func (p *place) do(fn func(m *core.Mux)) {
	p.t.Helper()
	if err := p.server.Do(func() { fn(p.server.Mux()) }); err != nil {
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

func isKind(kind core.Kind) func(Event) bool {
	return func(ev Event) bool { return ev.Kind == EventMessage && ev.Message.Kind == kind }
}

func TestRegisterLoginAndChat(t *testing.T) {
	for _, plain := range []bool{false, true} {
		p := newPlace(t, Config{Plain: plain})
		ctx := context.Background()
		dee := p.dial()
		if code, err := dee.Login(ctx, "dee", "password of dee"); err != nil || code != core.LoginUnknownPseudo {
			t.Fatal(code, err)
		}
		if code, err := dee.Register(ctx, "dee", "short"); err != nil || code != core.RegisterInvalidPassword {
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
			return ev.Kind == EventMessage && ev.Message.Kind == core.KindMetaAction && string(ev.Message.Name) == "ann"
		})
		if err := dee.Say("salut é"); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*Client{dee, ann} {
			ev := until(t, c, "chat", isKind(core.KindChatReceive))
			if string(ev.Message.Text) != "salut é" || ev.Message.ID != 1 {
				t.Errorf("%+v", ev.Message)
			}
		}
		if err := ann.Close(ctx); err != nil {
			t.Error(err)
		}
		until(t, dee, "ann leaves", func(ev Event) bool {
			return ev.Kind == EventMessage && ev.Message.Kind == core.KindMetaAction && ev.Message.Code == 1 && ev.Message.ID == joined.Message.ID
		})
		patient.Until(t, "ann is logged out", func() bool { return p.accounts.sessions() == 1 })
	}
}

// Without Accounts the handler answers, and may refuse whom accounts would let in.
func TestAHandlerThatAnswers(t *testing.T) {
	handle := func(c *Conn, ev Event) {
		switch ev.Kind {
		case EventRegister:
			c.AnswerRegister(ev.Question, core.RegisterDisabled)
		case EventLogin:
			c.AnswerLogin(ev.Question, LoginOK)
		case EventEnter:
			if ev.Question.Name == "bob" {
				c.Refuse(core.LoginTooManyTries)
				return
			}
			c.Enter(core.Entry{Entity: core.Entity{ID: 1}})
		}
	}
	s, err := Listen("127.0.0.1:0", Config{Plain: true, NoTime: true}, handle)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := context.Background()
	c, err := Dial(ctx, s.Addr().String(), Config{Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	register, err := c.Register(ctx, "ann", "password")
	bob, err2 := c.Login(ctx, "bob", "password")
	ann, err3 := c.Login(ctx, "ann", "password")
	if register != core.RegisterDisabled || bob != core.LoginTooManyTries || ann != LoginOK || errors.Join(err, err2, err3) != nil {
		t.Error(register, bob, ann, err, err2, err3)
	}
	if _, err := c.Login(ctx, "ann", "password"); !errors.Is(err, ErrState) {
		t.Error(err)
	}
}

// A client that pins another certificate does not connect, and the pinned one is kept.
func TestFingerprints(t *testing.T) {
	dir := t.TempDir()
	first := newPlace(t, Config{DataDir: dir})
	config := first.config()
	config.Fingerprint = strings.Repeat("0", 64)
	if _, err := Dial(context.Background(), first.server.Addr().String(), config); !errors.Is(err, ErrFingerprint) {
		t.Error(err)
	}
	config.Fingerprint = ""
	if _, err := Dial(context.Background(), first.server.Addr().String(), config); err == nil {
		t.Error("a certificate of nobody was trusted")
	}
	if second := newPlace(t, Config{DataDir: dir}); second.server.Fingerprint() != first.server.Fingerprint() {
		t.Error("the certificate was not kept")
	}
	first.dial()
}

func TestServerTimeAndTicks(t *testing.T) {
	for _, version := range []uint16{9, 10} {
		p := newPlace(t, Config{})
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
		patient.Until(t, "the clock is set", func() bool {
			_, within := c.ServerTime()
			return within < time.Second
		})
		var at uint64
		var tick uint64
		before, within := c.ServerTime()
		early := c.ServerTick()
		p.do(func(m *core.Mux) { at, tick = m.Unix(time.Now()), m.Tick(time.Now()) })
		after, _ := c.ServerTime()
		late := c.ServerTick()
		slack := uint64(within.Microseconds())
		if at+slack < before || at > after+slack {
			t.Errorf("version %d: the server's time is %d, and the client has %d to %d within %v", version, at, before, after, within)
		}
		// A tick is 50 ms, and the client's clock is as good as it says: a slow machine's is off by some.
		if off := 1 + int16(within/(50*time.Millisecond)); int16(uint16(early)-uint16(tick)) > off || int16(uint16(tick)-uint16(late)) > off {
			t.Errorf("version %d: the server's tick is %d, and the client has %d to %d", version, tick, early, late)
		}
	}
}

// The time server at its socket: who has no connection gets nothing, who has one is answered.
func TestTimeServerAnswersWhoIsConnected(t *testing.T) {
	for try := 1; !timeServerAnswers(t); try++ {
		if try == 20 {
			t.Fatal("the second burst was late in each of 20 tries")
		}
	}
}

// timeServerAnswers is not ok if the second burst was asked for when the first, which lasts for a second, was over: on a busy machine.
func timeServerAnswers(t *testing.T) (ok bool) {
	t.Helper()
	p := newPlace(t, Config{Config: patientConfig})
	at := net.UDPAddrFromAddrPort(p.server.TimeAddr())
	ask := func(from string, question []byte) *net.UDPConn {
		t.Helper()
		c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(from)), at)
		if err != nil {
			t.Skip(err) // not every system has all of 127.0.0.0/8
		}
		t.Cleanup(func() { c.Close() })
		if _, err := c.Write(question); err != nil {
			t.Fatal(err)
		}
		return c
	}
	config := p.config()
	config.NoTime = true
	c, err := Dial(context.Background(), p.server.Addr().String(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	ask("127.0.0.2:0", nil)
	ask("127.0.0.2:0", []byte("question"))
	patient.Until(t, "strangers are counted", func() bool { return p.server.Stats().Time.Strangers == 2 })
	if got := p.server.Stats().Time; got.Out != 0 {
		t.Errorf("%+v", got)
	}
	buf := make([]byte, 64)
	insider := ask("127.0.0.1:0", []byte("question"))
	if n, err := insider.Read(buf); n != 16 || string(buf[:8]) != "question" {
		t.Errorf("%q, %v", buf[:n], err)
	}
	burst := ask("127.0.0.1:0", nil)
	ask("127.0.0.1:0", nil)
	for range 10 {
		if n, err := burst.Read(buf); n != 8 || err != nil {
			t.Fatal(n, err)
		}
	}
	switch got := p.server.Stats().Time; {
	case got.Bursts == 2 && got.Running == 0:
		return false
	case got.Bursts != 1 || got.Running != 1:
		t.Errorf("%+v", got)
	}
	// Without a connection, nothing.
	c.Close(context.Background())
	patient.Until(t, "it has left", func() bool {
		p.server.times.mu.Lock()
		defer p.server.times.mu.Unlock()
		return len(p.server.times.live) == 0
	})
	ask("127.0.0.1:0", nil)
	patient.Until(t, "it is a stranger now", func() bool { return p.server.Stats().Time.Strangers == 3 })
	return true
}

// Certificates that are asked for by name (as autocert's are) have no fingerprint; old versions of TLS are refused;
// a given certificate has its fingerprint.
func TestTLSConfigurations(t *testing.T) {
	named := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, nil }}
	config, print, err := (&Config{TLS: named}).secure()
	if err != nil || print != "" || config.GetCertificate == nil || config.MinVersion != tls.VersionTLS12 {
		t.Errorf("%v, %q, %+v", err, print, config)
	}
	own, print, err := (&Config{DataDir: t.TempDir()}).secure()
	if err != nil {
		t.Fatal(err)
	}
	own.MinVersion = tls.VersionTLS10
	p := newPlace(t, Config{TLS: own})
	if p.server.Fingerprint() != print || print == "" {
		t.Errorf("%q and %q", p.server.Fingerprint(), print)
	}
	p.join("ann")
	old, err := net.Dial("tcp", p.server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if err := tls.Client(old, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}).HandshakeContext(context.Background()); err == nil {
		t.Error("TLS 1.1 was let in")
	}
	if _, _, err := (&Config{DataDir: "/dev/null/x"}).secure(); err == nil {
		t.Error("a directory that cannot be was used")
	}
}

// A client that speaks another version is told which side is older.
func TestDialOfAnotherVersion(t *testing.T) {
	p := newPlace(t, Config{Config: core.Config{MaxVersion: 9}})
	var why Close
	if _, err := Dial(context.Background(), p.server.Addr().String(), p.config()); !errors.As(err, &why) || why.Exit != core.ExitServerOutdated {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Dial(ctx, p.server.Addr().String(), p.config()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Bad input ends the connection with exit 2, and the log says at which byte.
func TestBadInputIsLoggedWithItsOffset(t *testing.T) {
	var log shelltest.Buffer
	p := newPlace(t, Config{Plain: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	c, err := net.Dial("tcp", p.server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Write([]byte{18, 0, 9, 0, 0, 2, 8}) // version, two pings, exit 8
	got, _ := io.ReadAll(c)
	if want := []byte{19, 0, 20, byte(p.server.TimeAddr().Port() >> 8), byte(p.server.TimeAddr().Port()), 1, 1, 2, 2}; !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	patient.Until(t, "the log says so", func() bool {
		return strings.Contains(log.String(), "byte 6 of the stream: exit: exit code: no such code at offset 1")
	})
}

// A program that does not read its events holds up the stream, not memory; and goes on when it
// reads.
func TestAProgramThatDoesNotRead(t *testing.T) {
	p := newPlace(t, Config{Config: patientConfig})
	ann := p.join("ann")
	text := make([]byte, 500)
	const lines = 1500
	for range lines {
		p.do(func(m *core.Mux) { m.Say(1, text) })
	}
	patient.Until(t, "the inbox is full", func() bool {
		events, bytes := ann.shell.Queued()
		return events >= shell.MaxQueuedEvents || bytes >= shell.MaxQueuedEventBytes
	})
	heard := 0
	for ev := range ann.Events() {
		if ev.Kind == EventMessage && ev.Message.Kind == core.KindChatReceive {
			if heard++; heard == lines {
				break
			}
		}
	}
	if err := ann.Err(); err != nil || heard != lines {
		t.Errorf("%d heard, %v", heard, err)
	}
}
