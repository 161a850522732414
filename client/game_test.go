package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"parley/arena"
	"parley/client"
	"parley/internal/patient"
	"parley/play/line"
	"parley/test/field"
	"parley/world"
)

// crab is a kind of another game than the arena.
type crab struct {
	world.Body
	Claws uint8
	Mood  string
}

type pinch struct{ Force int16 }

// beach is that other game.
func beach() world.Game {
	return world.Game{
		Name: "beach", Kinds: world.Kinds(crab{}), Actions: world.Actions(pinch{}),
		Step: func(w *world.World, in []world.Input) {
			for i := range in {
				switch in := &in[i]; in.Kind {
				case world.Join:
					w.Own(in.Player, world.SpawnFor(w, in, crab{Claws: 2}))
				case world.Steer:
					w.Steer(in)
				}
			}
			w.MoveAll()
		},
	}
}

// A client of another game than the server's reads so, over each dialect.
func TestAnotherGame(t *testing.T) {
	s := field.Serve(t, arena.Game(), field.Config())
	b := field.Serve(t, beach(), field.Config())
	for name, tt := range map[string]struct {
		server *field.Server
		game   world.Game
	}{"beach at the arena": {s, beach()}, "arena at the beach": {b, arena.Game()}} {
		tt.server.Audience(t)
		for _, dialect := range line.Dialects {
			t.Run(name+"/"+dialect, func(t *testing.T) {
				begin := time.Now()
				c, err := client.Dial(t.Context(), url(tt.server, dialect), tt.game, client.Config{Name: "ann", Password: "correct horse", Plain: true})
				if err == nil { // a dialect that does not tell its world
					defer c.Close()
					defer patient.End().Stop()
					for range c.Frames(100) {
					}
					err = c.Err()
				}
				t.Logf("after %v: %v", time.Since(begin), err)
				if !errors.Is(err, client.ErrOtherGame) || !strings.Contains(err.Error(), tt.game.Name) {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

// A room that nobody opened, and a password that cannot be an account's, are refusals that say so.
func TestRefusals(t *testing.T) {
	s := field.Serve(t, arena.Game(), field.Config())
	for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
		t.Run(dialect, func(t *testing.T) {
			_, err := client.Dial(t.Context(), url(s, dialect), arena.Game(), client.Config{Name: "ann", Password: "correct horse", Room: "nowhere", Plain: true})
			if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "no such room") && !strings.Contains(err.Error(), `no room "nowhere"`) {
				t.Errorf("%v", err)
			}
			t.Log(err)
		})
	}
	_, err := client.Dial(t.Context(), url(s, "realm"), arena.Game(), client.Config{Name: "bob", Plain: true})
	if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "a password has 8") || strings.Count(err.Error(), "client:") != 1 {
		t.Errorf("no password: %v", err)
	}
	_, err = client.Dial(t.Context(), "realm://"+s.At["duplex"], arena.Game(), client.Config{Name: "bob", Password: "correct horse"})
	if err == nil || !strings.Contains(err.Error(), "does not speak realm") {
		t.Errorf("a port of duplex: %v", err)
	}
	for _, dialect := range []string{"replica", "relay", "duplex"} {
		_, err = client.Dial(t.Context(), url(s, dialect), arena.Game(), client.Config{Session: [16]byte{1}})
		if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "the place of this player is not held any more") {
			t.Errorf("%s: a session that is over: %v", dialect, err)
		}
	}
	if err := new(client.Client).Act(nil); err == nil {
		t.Error("an action that the game does not have is no error")
	}
	if _, err = client.Dial(t.Context(), url(s, "stamp"), arena.Game(), client.Config{Room: "nowhere"}); err == nil || !strings.Contains(err.Error(), "stamp has no rooms") {
		t.Errorf("a room of stamp: %v", err)
	}
}

// What cannot be dialed is said before anything is sent.
func TestAddresses(t *testing.T) {
	for _, urls := range []string{"", "127.0.0.1:7000", "morse://127.0.0.1", "replica://", "replica://a:1,realm://b:1", "replica://a/b", strings.Repeat("replica://a,", 20)} {
		if _, err := client.Dial(t.Context(), urls, arena.Game(), client.Config{}); err == nil || errors.Is(err, client.ErrNoServer) || !strings.HasPrefix(err.Error(), "client: ") {
			t.Errorf("%q: %v", urls, err)
		}
	}
	if _, err := client.Dial(t.Context(), "realm://ann:secret@", arena.Game(), client.Config{}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error has the password: %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Dial(over, "replica://127.0.0.1:1", arena.Game(), client.Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// A server's certificate is shown before a password is sent, and one that is not trusted gets none.
func TestTrust(t *testing.T) {
	config := field.Config()
	config.RealmPlain, config.DataDir = false, t.TempDir()
	s := field.Serve(t, arena.Game(), config)
	var asked, print string
	trust := func(addr, fingerprint string) error {
		asked, print = addr, fingerprint
		return errors.New("another certificate than before")
	}
	_, err := client.Dial(t.Context(), url(s, "realm"), arena.Game(), client.Config{Name: "ann", Password: "correct horse", Trust: trust})
	if err == nil || !strings.Contains(err.Error(), "another certificate than before") || asked != s.At["realm"] || len(print) != 64 {
		t.Errorf("%q %q: %v", asked, print, err)
	}
	c := join(t, url(s, "realm"), client.Config{Name: "ann", Password: "correct horse", Trust: func(_, fingerprint string) error {
		if fingerprint != print {
			return errors.New("it has changed")
		}
		return nil
	}})
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
