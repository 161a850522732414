package player_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"parley/internal/patient"
	"parley/play/message"
	"parley/play/player"
)

var back = player.Resume{On: true}

// Over each dialect with sessions a player enters with its pass, learns its session, and comes back with it as the same player
// when the server has closed; as often as it takes.
func TestAPlayerComesBackWithItsSession(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, dialect := range boothDialects {
		t.Run(dialect, func(t *testing.T) {
			b := newBooth(t)
			x := b.call(dialect, player.Config{Room: "duel", Name: "ann", Resume: back})
			token := x.token(message.Token{})
			if _, hold := x.Session(); hold != 30*time.Second {
				t.Errorf("the place is held for %v", hold)
			}
			for round := range 3 {
				if dialect == "duplex" {
					patient.Until(t, "the session is confirmed", func() (ok bool) {
						b.set(func() { ok = b.confirmed == round+1 })
						return ok
					})
				}
				b.drop[dialect]("server closing")
				x.wants(player.Away)
				if n := x.wants(player.Back); !n.Same || n.Absence <= 0 || n.Text != dialect {
					t.Errorf("%+v", n)
				}
				token = x.token(token)
			}
			if err := x.Steer(1, 1); err != nil {
				t.Error(err)
			}
			if got, want := b.passes(), []string{"room duel, name ann", "S", "S", "S"}; !slices.Equal(got, want) || b.count() != 1 {
				t.Errorf("%d players showed %q, want %q", b.count(), got, want)
			}
			if got := x.strange(); len(got) > 0 {
				t.Errorf("it took messages that it does not know for entities %d", got)
			}
			if err := x.Close(t.Context()); err != nil {
				t.Error(err)
			}
			x.wants(player.Ended)
		})
	}
}

// A session goes on over another dialect, with the player that joined and with a new client that has its token.
func TestASessionGoesOnOverAnotherDialect(t *testing.T) {
	b := newBooth(t)
	ways := []player.Way{{Dialect: "duplex", Addr: b.at["duplex"]}, {Dialect: "replica", Addr: b.at["replica"]}}
	x := b.call("relay", player.Config{Room: "duel", Resume: player.Resume{On: true, Ways: ways}})
	token := x.token(message.Token{})
	b.drop["relay"]("server closing")
	x.wants(player.Away)
	if n := x.wants(player.Back); !n.Same || x.Speaks() != "duplex" || x.Dialect != "relay" {
		t.Errorf("%+v, and it speaks %s", n, x.Speaks())
	}
	token = x.token(token)
	y := b.call("replica", player.Config{Session: token})
	y.token(message.Token{})
	if got, want := b.passes(), []string{"room duel, name ", "S", "S"}; !slices.Equal(got, want) || b.count() != 1 {
		t.Errorf("%d players showed %q, want %q", b.count(), got, want)
	}
}

// A player who was told to go does not come back, and neither does one that is not to.
func TestWhoIsToldToGoGoes(t *testing.T) {
	for _, dialect := range boothDialects {
		for _, tt := range []struct {
			name, why string
			resume    player.Resume
		}{
			{"kicked", "go away", player.Resume{On: true, Anew: true}},
			{"resumed", "resumed elsewhere", player.Resume{On: true, Anew: true}},
			{"off", "server closing", player.Resume{}},
		} {
			t.Run(dialect+"/"+tt.name, func(t *testing.T) {
				b := newBooth(t)
				x := b.call(dialect, player.Config{Room: "duel", Resume: tt.resume})
				x.token(message.Token{})
				b.drop[dialect](tt.why)
				x.wants(player.Ended)
				if got := b.passes(); len(got) != 1 {
					t.Errorf("it showed %q", got)
				}
			})
		}
	}
}

// A session that the server does not know any more is over: the player is out, or a new one if it is to be. A newer token that
// the server has forgotten does no harm, as one that was killed may have.
func TestSessionsThatTheServerDoesNotKnow(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, dialect := range boothDialects {
		t.Run(dialect, func(t *testing.T) {
			b := newBooth(t)
			x := b.call(dialect, player.Config{Room: "duel", Resume: player.Resume{On: true, Anew: true}})
			first := x.token(message.Token{})
			b.drop[dialect]("server closing")
			x.wants(player.Away)
			x.wants(player.Back)
			second := x.token(first)
			b.set(func() { delete(b.sessions, second) })
			b.drop[dialect]("server closing")
			x.wants(player.Away)
			if n := x.wants(player.Back); !n.Same {
				t.Error("it came with the token before, and is not the same player")
			}
			third := x.token(second)
			b.set(func() { clear(b.sessions) })
			b.drop[dialect]("server closing")
			x.wants(player.Away)
			if n := x.wants(player.Back); n.Same {
				t.Error("its session was no more, and it is the same player")
			}
			x.token(third)
			if got, want := b.passes(), []string{"room duel, name ", "S", "S", "S", "S", "S", "room duel, name "}; !slices.Equal(got, want) || b.count() != 2 {
				t.Errorf("%d players showed %q, want %q", b.count(), got, want)
			}
			y := b.call(dialect, player.Config{Room: "duel", Resume: back})
			y.token(message.Token{})
			b.set(func() { clear(b.sessions) })
			b.drop[dialect]("server closing")
			y.wants(player.Away)
			if n := y.wants(player.Ended); !n.Refused {
				t.Errorf("%+v", n)
			}
		})
	}
}

// A server that is away for a while, or full, is asked again.
func TestAServerThatIsAwayIsAskedAgain(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, dialect := range boothDialects {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			b := newBooth(t)
			b.set(func() { b.hold = 300 })
			x := b.call(dialect, player.Config{Room: "duel", Resume: back})
			token := x.token(message.Token{})
			b.set(func() { b.refusal = "game is full" })
			b.drop[dialect]("server closing")
			b.close()
			x.wants(player.Away)
			if err := x.Steer(0, 1); err != player.ErrAway {
				t.Errorf("steering while it is away: %v", err)
			}
			if dialect == "duplex" {
				<-time.After(700 * time.Millisecond) // two attempts find nobody there
			}
			b.open()
			patient.Until(t, "it is told that it is full, twice", func() bool { return len(b.passes()) >= 3 })
			b.set(func() { b.refusal = "" })
			if n := x.wants(player.Back); !n.Same {
				t.Errorf("%+v", n)
			}
			x.token(token)
		})
	}
}

// A player who does not get back in time is out; one that leaves meanwhile is out at once.
func TestPlayersWhoDoNotGetBack(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, dialect := range boothDialects {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			b := newBooth(t)
			b.set(func() { b.hold = 1 })
			x := b.call(dialect, player.Config{Room: "duel", Resume: back})
			y := b.call(dialect, player.Config{Room: "duel", Resume: player.Resume{On: true, Anew: true}})
			x.token(message.Token{})
			y.token(message.Token{})
			b.set(func() { b.refusal = "game is full" })
			b.drop[dialect]("server closing")
			b.close()
			x.wants(player.Away)
			if n := x.wants(player.Ended); n.Refused {
				t.Errorf("nobody has refused it: %+v", n)
			}
			y.wants(player.Away)
			done := make(chan error, 1)
			go func() { done <- y.Close(context.Background()) }()
			patient.Value(done)
			y.wants(player.Ended)
		})
	}
}

// A server that tells a player of duplex ten thousand sessions is confirmed that the last has come, with few queries.
func TestAFloodOfSessions(t *testing.T) {
	b := newBooth(t)
	b.flood = 10_000
	x := b.call("duplex", player.Config{})
	patient.Until(t, "the last session is known", func() bool {
		token, hold := x.Session()
		return token != message.Token{1} && hold == 30*time.Second
	})
	patient.Until(t, "it is confirmed", func() (ok bool) {
		b.set(func() { ok = b.confirmed > 0 })
		return ok
	})
	b.set(func() {
		if b.confirmed > b.flood/2 {
			t.Errorf("%d queries", b.confirmed)
		}
	})
}

// What no player can do is refused before anything is sent.
func TestWhatJoinRefuses(t *testing.T) {
	way := []player.Way{{Dialect: "duplex"}}
	for _, tt := range []struct {
		dialect string
		config  player.Config
	}{
		{"morse", player.Config{}},
		{"replica", player.Config{Room: "No Room"}},
		{"stamp", player.Config{Session: message.Token{1}}},
		{"realm", player.Config{Session: message.Token{1}}},
		{"realm", player.Config{Resume: player.Resume{Ways: way}}},
		{"replica", player.Config{Resume: player.Resume{Ways: []player.Way{{Dialect: "realm"}}}}},
	} {
		if _, err := player.Join(t.Context(), tt.dialect, "127.0.0.1:1", tt.config); err == nil {
			t.Errorf("%s with %+v can join", tt.dialect, tt.config)
		}
	}
}
