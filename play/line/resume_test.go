package line_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"parley/arena"
	"parley/internal/patient"
	"parley/play/line"
	"parley/play/message"
	"parley/test/field"
)

var back = line.Resume{On: true}

// Over each dialect with sessions a player enters with its pass, learns its session, and comes back with it as the same player
// when the server has closed; as often as it takes.
func TestAPlayerComesBackWithItsSession(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, dialect := range boothDialects {
		t.Run(dialect, func(t *testing.T) {
			b := newBooth(t)
			x := b.call(line.Config{Room: "duel", Name: "ann", Resume: back}, dialect)
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
				x.wants(line.Away)
				if n := x.wants(line.Back); !n.Same || n.Absence <= 0 || n.Text != dialect {
					t.Errorf("%+v", n)
				}
				token = x.token(token)
			}
			if err := x.Now().Say("hello"); err != nil {
				t.Error(err)
			}
			if got, want := b.passes(), []string{"room duel, name ann", "S", "S", "S"}; !slices.Equal(got, want) || b.count() != 1 {
				t.Errorf("%d players showed %q, want %q", b.count(), got, want)
			}
			if err := x.Close(t.Context()); err != nil {
				t.Error(err)
			}
			x.wants(line.Ended)
		})
	}
}

// A session goes on over another dialect, with the player that joined and with a new client that has its token.
func TestASessionGoesOnOverAnotherDialect(t *testing.T) {
	b := newBooth(t)
	x := b.call(line.Config{Room: "duel", Resume: back}, "relay", "duplex", "replica")
	token := x.token(message.Token{})
	b.drop["relay"]("server closing")
	b.shut["relay"]()
	x.wants(line.Away)
	if n := x.wants(line.Back); !n.Same || x.Now().Dialect != "duplex" || x.Dialect() != "relay" {
		t.Errorf("%+v, and it speaks %s", n, x.Now().Dialect)
	}
	token = x.token(token)
	y := b.call(line.Config{Session: token}, "replica")
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
			resume    line.Resume
		}{
			{"kicked", "go away", line.Resume{On: true, Anew: true}},
			{"resumed", "resumed elsewhere", line.Resume{On: true, Anew: true}},
			{"off", "server closing", line.Resume{}},
		} {
			t.Run(dialect+"/"+tt.name, func(t *testing.T) {
				b := newBooth(t)
				x := b.call(line.Config{Room: "duel", Resume: tt.resume}, dialect)
				x.token(message.Token{})
				b.drop[dialect](tt.why)
				x.wants(line.Ended)
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
			x := b.call(line.Config{Room: "duel", Resume: line.Resume{On: true, Anew: true}}, dialect)
			first := x.token(message.Token{})
			b.drop[dialect]("server closing")
			x.wants(line.Away)
			x.wants(line.Back)
			second := x.token(first)
			b.set(func() { delete(b.sessions, second) })
			b.drop[dialect]("server closing")
			x.wants(line.Away)
			if n := x.wants(line.Back); !n.Same {
				t.Error("it came with the token before, and is not the same player")
			}
			third := x.token(second)
			b.set(func() { clear(b.sessions) })
			b.drop[dialect]("server closing")
			x.wants(line.Away)
			if n := x.wants(line.Back); n.Same {
				t.Error("its session was no more, and it is the same player")
			}
			x.token(third)
			if got, want := b.passes(), []string{"room duel, name ", "S", "S", "S", "S", "S", "room duel, name "}; !slices.Equal(got, want) || b.count() != 2 {
				t.Errorf("%d players showed %q, want %q", b.count(), got, want)
			}
			y := b.call(line.Config{Room: "duel", Resume: back}, dialect)
			y.token(message.Token{})
			b.set(func() { clear(b.sessions) })
			b.drop[dialect]("server closing")
			y.wants(line.Away)
			if n := y.wants(line.Ended); !n.Refused {
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
			x := b.call(line.Config{Room: "duel", Resume: back}, dialect)
			token := x.token(message.Token{})
			b.set(func() { b.refusal = "game is full" })
			b.drop[dialect]("server closing")
			b.close()
			x.wants(line.Away)
			if err := x.Now().Say("hello"); !line.IsClosed(err) || !x.IsAway() {
				t.Errorf("speaking while it is away: %v", err)
			}
			if dialect == "duplex" {
				<-time.After(700 * time.Millisecond) // two attempts find nobody there
			}
			b.open()
			patient.Until(t, "it is told that it is full, twice", func() bool { return len(b.passes()) >= 3 })
			b.set(func() { b.refusal = "" })
			if n := x.wants(line.Back); !n.Same {
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
			x := b.call(line.Config{Room: "duel", Resume: back}, dialect)
			y := b.call(line.Config{Room: "duel", Resume: line.Resume{On: true, Anew: true}}, dialect)
			x.token(message.Token{})
			y.token(message.Token{})
			b.set(func() { b.refusal = "game is full" })
			b.drop[dialect]("server closing")
			b.close()
			x.wants(line.Away)
			if n := x.wants(line.Ended); n.Refused {
				t.Errorf("nobody has refused it: %+v", n)
			}
			y.wants(line.Away)
			done := make(chan error, 1)
			go func() { done <- y.Close(context.Background()) }()
			patient.Value(done)
			y.wants(line.Ended)
		})
	}
}

// A server that tells a player of duplex ten thousand sessions is confirmed that the last has come, with few queries.
func TestAFloodOfSessions(t *testing.T) {
	b := newBooth(t)
	b.flood = 10_000
	x := b.call(line.Config{}, "duplex")
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
func TestWhatDialRefuses(t *testing.T) {
	schema := field.Schema(t, arena.Game())
	way := func(dialects ...string) (list []line.Way) {
		for _, d := range dialects {
			list = append(list, line.Way{Dialect: d, Addr: "127.0.0.1:1"})
		}
		return list
	}
	for _, c := range []line.Config{
		{},
		{Ways: way("morse")},
		{Ways: way("replica"), Room: "No Room"},
		{Ways: way("stamp"), Session: message.Token{1}},
		{Ways: way("realm"), Session: message.Token{1}},
		{Ways: way("realm", "duplex")},
		{Ways: way("replica", "realm")},
	} {
		c.Schema, c.Read = schema, deaf
		if _, err := line.Dial(t.Context(), c); err == nil || errors.Is(err, line.ErrNoServer) {
			t.Errorf("%v with the room %q: %v", c.Ways, c.Room, err)
		}
	}
}
