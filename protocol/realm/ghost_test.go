package realm

import (
	"context"
	"net"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/protocol/realm/core"
)

// A player whose connection is there no more, without a sign of it, logs in again after 2 s. While the new one is there, the
// account is in.
func TestALostPlayerLogsInAgain(t *testing.T) {
	p := newPlace(t, Config{Config: patientConfig, Plain: true})
	lost, err := net.Dial("tcp", p.server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer lost.Close()
	lost.SetDeadline(time.Now().Add(3 * time.Minute))
	hello := testCodec.AppendTo(nil, &core.Message{Kind: core.KindVersion, Version: 9})
	hello = testCodec.AppendTo(hello, &core.Message{Kind: core.KindLogin, Name: []byte("ann@cave"), Password: []byte("password of ann")})
	if _, err := lost.Write(hello); err != nil {
		t.Fatal(err)
	}
	patient.Until(t, "ann is in", func() bool { return p.accounts.sessions() == 1 })
	var old *Conn
	patient.Until(t, "ann plays", func() (plays bool) {
		p.do(func(m *core.Mux) {
			old = m.Holder("Ann")
			plays = old != nil && old.Playing() && old.Account() == "ann"
		})
		return plays
	})

	began := time.Now()
	again := p.join("ann")
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("the old connection had %v to answer", took)
	}
	reads(t, lost, func(m *core.Message) bool {
		return m.Kind == core.KindExit && core.ExitCode(m.Code) == core.ExitPingTimeout
	})
	p.do(func(m *core.Mux) {
		if holder := m.Holder("ann"); holder == old || !holder.Playing() || m.Players() != 1 {
			t.Errorf("%d players", m.Players())
		}
		if c := p.game.ended; len(c) != 1 || c[0].Reason != core.ReasonReplaced {
			t.Errorf("ended by %v", c)
		}
	})
	if code, err := p.dial().Login(context.Background(), "ann", "password of ann"); err != nil || code != core.LoginAlreadyConnected {
		t.Errorf("while it is there: %v, %v", code, err)
	}
	if err := again.Say("still here"); err != nil || p.accounts.sessions() != 1 {
		t.Errorf("%v, %d sessions", err, p.accounts.sessions())
	}
	until(t, again, "its own line", isKind(core.KindChatReceive))
}
