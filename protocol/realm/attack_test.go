package realm

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/internal/promise"
	"parley/internal/shell/shelltest"
	"parley/protocol/realm/core"
)

// tlsClient is a client's TLS. The handshake is made by the first write, and may fail.
func tlsClient(socket net.Conn, c *Config) net.Conn {
	return tls.Client(socket, c.trust("127.0.0.1:1"))
}

// T60: a server that goes down tells everybody, and leaves nothing behind: 1,000 clients in the
// gate, and 200 in every run.
func TestShutdownTellsEverybody(t *testing.T) {
	clients := promise.Keeps(t, "T60", "realm", shelltest.Tier(200, 1000, 1000))
	if testing.Short() || shelltest.Race {
		clients = 20
	}
	p := newPlace(t, Config{Config: patientConfig})
	p.accounts.mu.Lock()
	for i := range clients {
		p.accounts.passwords[string(rune('A'+i))] = "password of " + string(rune('A'+i))
	}
	p.accounts.mu.Unlock()
	var all []*Client
	for i := range clients {
		if i%2 == 0 {
			all = append(all, p.join(string(rune('A'+i))))
		} else {
			all = append(all, p.dial()) // in the lobby
		}
	}
	var read sync.WaitGroup
	for _, c := range all {
		read.Go(func() {
			var last Event
			for ev := range c.Events() {
				last = ev
			}
			if last.Kind != EventClosed || !last.Close.Remote || last.Close.Exit != core.ExitServerClosed || last.Close.Reason != core.ReasonPeer {
				t.Errorf("%v", last.Close)
			}
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	if err := p.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	patient.Done(read.Wait)
	if got := p.server.Stats(); got.Mux.Players != 0 || got.Mux.Waiting != 0 || got.Mux.Accepted != got.Mux.Ended || p.accounts.sessions() != 0 {
		t.Errorf("%+v, %d sessions", got, p.accounts.sessions())
	}
	if err := p.server.Do(func() { t.Error("ran") }); !errors.Is(err, ErrServerClosed) {
		t.Error(err)
	}
	if _, err := Dial(context.Background(), p.server.Addr().String(), p.config()); err == nil {
		t.Error("a closed server was dialled")
	}
	p.server.Close()
	p.server.Shutdown(ctx)
}

// T58: real connections come and go, and leave no goroutine, no connection and no session
// behind: a hundred of them, and 2,000 in the gate, as a million, which the core has there, would
// be half an hour of TLS.
func TestRealChurn(t *testing.T) {
	p := newPlace(t, Config{})
	p.dial().Close(context.Background())
	patient.Until(t, "the first is gone", func() bool { return p.server.Stats().Mux.Ended == 1 })
	before := runtime.NumGoroutine()
	churn := promise.Keeps(t, "T58", "realm", shelltest.Tier(100, 2000, 10_000))
	if shelltest.Race || testing.Short() {
		churn = 10
	}
	for i := range churn {
		c := p.join("ann")
		switch i % 3 {
		case 0:
			if err := c.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
		case 1:
			c.shell.Do(func(time.Time) { c.core.line.Cut() })
			c.Close(context.Background())
		case 2:
			p.do(func(m *core.Mux) {
				for conn := range m.Conns() {
					conn.Close(core.ExitClientKicked, "")
				}
			})
			for range c.Events() {
			}
			c.Close(context.Background())
		}
		patient.Until(t, "it is gone", func() bool { return p.accounts.sessions() == 0 && p.server.Stats().Mux.Players == 0 })
	}
	patient.Until(t, "all goroutines are gone", func() bool { return runtime.NumGoroutine() <= before+1 })
	if got := p.server.Stats(); got.Mux.Accepted != got.Mux.Ended || got.Mux.Entered != uint64(churn) || p.accounts.logouts != churn {
		t.Errorf("%+v, %d logouts", got, p.accounts.logouts)
	}
}

// A session that was begun for somebody who has left meanwhile is ended.
func TestLateAnswersLeaveNoSession(t *testing.T) {
	p := newPlace(t, Config{})
	p.accounts.hold = true
	c := p.dial()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		patient.Until(t, "the login has come", func() bool {
			p.accounts.mu.Lock()
			defer p.accounts.mu.Unlock()
			return len(p.accounts.held) == 1
		})
		cancel()
	}()
	if _, err := c.Login(ctx, "ann", "password of ann"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	patient.Until(t, "it has left", func() bool { return p.server.Stats().Mux.Ended == 1 })
	p.accounts.held[0]()
	patient.Until(t, "the session has ended", func() bool { return p.accounts.sessions() == 0 })
	p.server.Close()
	// And one whose answer comes when the server is closed.
	p.accounts.in["ann"] = true
	p.accounts.held[0]()
	if p.accounts.sessions() != 0 {
		t.Error("a session outlived the server")
	}
}

// T39: one that reads nothing is dropped, and the others do not notice.
func TestARealSlowReaderIsDropped(t *testing.T) {
	promise.Keeps(t, "T39", "realm", 1)
	p := newPlace(t, Config{})
	config := p.config()
	socket, err := net.Dial("tcp", p.server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	deaf := tlsClient(socket, &config)
	hello := testCodec.AppendTo([]byte{18, 0, 9}, &core.Message{Kind: core.KindLogin, Name: []byte("ann"), Password: []byte("password of ann")})
	deaf.Write(hello)
	bob := p.join("bob")
	patient.Until(t, "both are in", func() bool { return p.server.Stats().Mux.Players == 2 })
	var heard sync.WaitGroup
	count := 0
	heard.Go(func() {
		for ev := range bob.Events() {
			if ev.Kind == EventMessage && ev.Message.Kind == core.KindChatReceive {
				count++
			}
		}
	})
	said := 0
	text := make([]byte, 4000)
	for dropped := false; !dropped; {
		p.do(func(m *core.Mux) {
			for range 10 {
				m.Say(1, text)
			}
			dropped = true
			for c := range m.Conns() {
				if c.Account() == "ann" && c.Playing() {
					dropped = false
				}
			}
		})
		said += 10
		// Bob reads as fast as it can: what it has not read is not much.
		patient.Until(t, "bob keeps up", func() bool {
			ok := false
			p.do(func(m *core.Mux) {
				for c := range m.Conns() {
					if c.Account() == "bob" {
						ok = c.Queued() < 200<<10
					}
				}
			})
			return ok
		})
		if said > 100_000 {
			t.Fatal("never dropped")
		}
	}
	patient.Until(t, "its end is told", func() (told bool) {
		p.do(func(*core.Mux) { told = len(p.game.ended) == 1 && p.game.ended[0].Reason == core.ReasonOverflow })
		return told
	})
	bob.Close(context.Background())
	patient.Done(heard.Wait)
	if count == 0 {
		t.Error("bob heard nothing")
	}
}
