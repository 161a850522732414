package relay

import (
	"errors"
	"testing"
	"testing/synctest"

	"parley/internal/patient"
	"parley/protocol/relay/core"
)

// A server judges a newcomer in another goroutine and later. Dial returns when it is in, or with the server's words; the server
// learns when its client has the token, and that the client said goodbye.
func TestNewcomersAreJudgedElsewhere(t *testing.T) {
	eachPlace(t, func(t *testing.T, at *place) {
		newcomers, told := make(chan *core.Newcomer, 10), make(chan Event, 10)
		rules := core.Rules{}
		if at.Network == nil {
			rules = core.Rules{Timeout: unhurried, HoleTimeout: unhurried}
		}
		s := at.serve(t, Config{Lobby: core.NewEntryLobby(core.EntryConfig{Rules: rules})}, func(_ *Peer, ev Event) {
			switch ev.Kind {
			case core.EventPass:
				newcomers <- ev.Newcomer
			case core.EventAcked, EventLeft:
				told <- ev
			}
		})
		var room *Room
		if err := s.Do(func() { room = s.NewRoom() }); err != nil {
			t.Fatal(err)
		}
		go func() {
			for n := range newcomers {
				_ = s.Do(func() {
					if string(n.Pass()) != "Rmain" {
						n.Refuse("no such room")
						return
					}
					if p, err := n.Admit(room, "ann"); err != nil {
						t.Error(err)
					} else if err := p.SendTagged(Unordered, []byte("\x04token"), 9); err != nil {
						t.Error(err)
					}
				})
			}
		}()
		defer close(newcomers)
		defer s.Close()
		for _, pass := range []string{"Rother", ""} {
			var refused Close
			if _, err := at.tryDial(t.Context(), t, s.Addr(), Config{Ticket: []byte(pass)}); !errors.As(err, &refused) || refused.Reason != core.ReasonRefused || refused.Text != "no such room" {
				t.Errorf("%q: %v", pass, err)
			}
		}
		x := at.join(t, s.Addr(), Config{Ticket: []byte("Rmain")})
		wantPackage(t, x, Unordered, true, "\x04token")
		if ev := patient.Value(told); ev.Kind != core.EventAcked || ev.Tag != 9 {
			t.Errorf("told %+v", ev)
		}
		if err := x.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if ev := patient.Value(told); ev.Kind != EventLeft || !ev.Goodbye {
			t.Errorf("told %+v", ev)
		}
	})
}

// A newcomer that nobody judges gets no answer: its Dial ends as if nobody were there.
func TestNewcomersThatNobodyJudges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory()
		s := at.serve(t, Config{Lobby: core.NewEntryLobby(core.EntryConfig{})}, nil)
		var end Close
		if _, err := at.tryDial(t.Context(), t, s.Addr(), Config{Ticket: []byte("Tx")}); !errors.As(err, &end) || end.Reason == core.ReasonRefused {
			t.Error(err)
		}
	})
}
