package attack

import (
	"io"
	"net"
	"testing"
	"time"

	"parley/arena"
	"parley/protocol/realm/core"
	"parley/test/field"
)

// realmConn is a client of realm that answers nothing by itself.
type realmConn struct {
	net.Conn
	t *testing.T
}

// openRealm connects and says version.
func openRealm(t *testing.T, s *field.Server) *realmConn {
	t.Helper()
	socket, err := net.Dial("tcp", s.At["realm"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	socket.SetDeadline(time.Now().Add(field.Patience))
	c := &realmConn{socket, t}
	c.ask(&core.Message{Kind: core.KindVersion, Version: 9}, 5)
	return c
}

// ask sends a message, and returns the answer of so many bytes.
func (c *realmConn) ask(m *core.Message, size int) []byte {
	c.t.Helper()
	answer := make([]byte, size)
	if _, err := c.Write(core.NewCodec(core.Schema{}).AppendTo(nil, m)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := io.ReadFull(c, answer); err != nil {
		c.t.Fatal(err)
	}
	return answer
}

func (c *realmConn) login(name, password string) core.LoginCode {
	c.t.Helper()
	return core.LoginCode(c.ask(&core.Message{Kind: core.KindLogin, Name: []byte(name), Password: []byte(password)}, 2)[1])
}

// A player whose network dropped logs in again over a new connection, with the account's own password, while the server still
// believes in the old one. A wrong password does not disturb the old one.
func TestAPlayerWhoseNetworkDroppedComesBack(t *testing.T) {
	s := field.Serve(t, arena.Game(), field.Config())
	old := openRealm(t, s)
	const word = "correct horse"
	if got := old.ask(&core.Message{Kind: core.KindRegister, Name: []byte("ann"), Password: []byte(word)}, 2); got[1] != byte(core.RegisterOK) {
		t.Fatalf("registering: %x", got)
	}
	if code := old.login("ann", word); code != core.LoginOK {
		t.Fatalf("the first log-in: %v", code)
	}
	again := openRealm(t, s)
	if code := again.login("ann", "battery staple"); code != core.LoginWrongPassword || s.Stats().Realm.Mux.Probed != 0 {
		t.Errorf("a wrong password: %v", code)
	}
	began := time.Now()
	if code := again.login("Ann", word); code != core.LoginOK {
		t.Errorf("the second log-in: %v", code)
	}
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("the old connection had %v to answer", took)
	} else {
		t.Logf("back after %v", took)
	}
	if m := s.Stats().Realm.Mux; m.Probed != 1 || m.Replaced != 1 || m.Players != 1 {
		t.Errorf("%+v", m)
	}
	s.Within(t, "one player is in", func() bool {
		players, err := s.Players()
		return err == nil && len(players) == 1
	})
}
