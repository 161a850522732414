package realm

import (
	"io"
	"net"
	"testing"
	"time"

	"parley/internal/kit"
	"parley/internal/patient"
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
