package realm

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/pace"
	"parley/internal/patient"
	"parley/internal/stream"
	"parley/protocol/realm/core"
)

// A server does not know what brings its streams: players at sockets and over pipes in memory are in one game.
func TestPlaysBesideTheSocket(t *testing.T) {
	sessions := new(kit.Sessions)
	p := newPlaceOver(t, Config{Config: patientConfig, Plain: true}, sessions.BesideTCP)
	ann := p.join("ann")
	for _, name := range []string{"bob", "cyd"} {
		c := sessions.Open()
		defer c.Close()
		c.SetDeadline(time.Now().Add(3 * time.Minute))
		say := func(m core.Message) { c.Write(testCodec.AppendTo(nil, &m)) }
		say(core.Message{Kind: core.KindVersion, Version: 9})
		say(core.Message{Kind: core.KindLogin, Name: []byte(name), Password: []byte("password of " + name)})
		reads(t, c, func(m *core.Message) bool { return m.Kind == core.KindLoginResponse && m.Code == 0 })
		say(core.Message{Kind: core.KindChatSend, Text: []byte("I am " + name)})
		if ev := until(t, ann, "chat", isKind(core.KindChatReceive)); string(ev.Message.Text) != "I am "+name {
			t.Errorf("%s says %q", name, ev.Message.Text)
		}
		if err := ann.Say("hello, " + name); err != nil {
			t.Fatal(err)
		}
		until(t, ann, "its own line", isKind(core.KindChatReceive))
		reads(t, c, func(m *core.Message) bool { return m.Kind == core.KindChatReceive && string(m.Text) == "hello, "+name })
		if name == "bob" {
			c.Close()
			patient.Until(t, "bob is gone", func() bool { return p.accounts.sessions() == 1 })
			continue
		}
		over := make(chan error)
		go func() {
			reads(t, c, func(m *core.Message) bool { return m.Kind == core.KindExit && m.Code == uint8(core.ExitServerClosed) })
			_, err := io.Copy(io.Discard, c)
			over <- err
		}()
		if err := p.server.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := patient.Value(over); err != nil {
			t.Errorf("a pipe ends with %v", err)
		}
	}
}

// reads reads messages until one is as wanted.
func reads(t *testing.T, c net.Conn, wanted func(m *core.Message) bool) {
	t.Helper()
	s := core.NewStream(testCodec, core.FromServer)
	kit.ReadUntil(t, c, func(b []byte) bool {
		var m core.Message
		_, ok := s.Next(b, &m)
		return ok && wanted(&m)
	})
}

// Nobody is late because the server was: what has come from each player is looked at before it is said that nothing came.
func TestALateServerForgivesAll(t *testing.T) {
	brings := &crowdCarrier{}
	patience := patientConfig
	patience.Timeout = 10 * time.Second
	p := newPlaceOver(t, Config{Config: patience, Plain: true, NoTime: true}, func(socket net.Listener, c stream.Config) stream.Carrier {
		brings.Carrier = stream.Serve(socket, c)
		return brings
	})
	hello := testCodec.AppendTo(nil, &core.Message{Kind: core.KindVersion, Version: 10})
	p.do(func(m *core.Mux) {
		now := m.Now()
		var players []stream.Receiver
		for i := range 3*stream.MaxTurn + 1 {
			peer := quietStream{peer: netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), uint16(1+i)), born: now}
			players = append(players, (*intake)(p.server).Opened(now, peer))
		}
		p.server.turn()
		late := now.Add(patience.Timeout + lateLoop)
		for _, x := range players {
			brings.news = append(brings.news, func() { x.Received(late, hello) })
		}
		shellCore{m, p.server}.HandleTimeout(late)
		p.server.events()
		for p.server.transmit() {
			p.server.events()
		}
		if n := m.Len(); n != len(players) {
			t.Errorf("%d of %d players are left", n, len(players))
		}
		for _, x := range players {
			x.Ended(late, io.EOF)
		}
	})
}

// crowdCarrier brings the news of many streams, no more than MaxTurn at a time.
type crowdCarrier struct {
	stream.Carrier
	news []func()
}

func (c *crowdCarrier) Turn(now time.Time, h stream.Handler) {
	c.Carrier.Turn(now, h)
	n := min(len(c.news), stream.MaxTurn)
	for _, tell := range c.news[:n] {
		tell()
	}
	c.news = c.news[n:]
}

// quietStream takes all that is sent.
type quietStream struct {
	peer netip.AddrPort
	born time.Time
}

func (s quietStream) Peer() netip.AddrPort { return s.peer }
func (s quietStream) Born() time.Time      { return s.born }
func (s quietStream) Carrier() string      { return "tcp" }
func (s quietStream) Entered()             {}
func (s quietStream) Ready() bool          { return true }
func (s quietStream) Send([]byte)          {}
func (s quietStream) Finish()              {}

func (s quietStream) Pace(time.Time, int) stream.Pace { return stream.Pace{Budget: pace.Unlimited} }
func (s quietStream) Estimate() pace.Estimate         { return pace.Estimate{Budget: pace.Unlimited} }

func (s quietStream) Cut() {}
