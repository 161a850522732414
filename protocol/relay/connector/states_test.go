package connector

import (
	"strings"
	"testing"
	"time"

	"parley/internal/pagetest"
	"parley/internal/promise"
	"parley/protocol/relay/core"
)

// T26: every message from everybody, as the page says.
func TestStatesAndMessages(t *testing.T) {
	promise.Keeps(t, "T26", "connector", 1)
	tables := pagetest.Tables(t, page)
	for _, tt := range []struct {
		heading string
		rows    int
		columns int
		try     func(t *testing.T, message, who string) string
	}{
		{"At the main port", 4, 2, tryMain},
		{"At a game", 10, 7, tryGame},
	} {
		if len(tables[tt.heading]) != tt.rows {
			t.Fatalf("%d rows under %q, want %d", len(tables[tt.heading]), tt.heading, tt.rows)
		}
		for _, row := range tables[tt.heading] {
			if len(row) != tt.columns+1 {
				t.Fatalf("%d columns under %q, want %d", len(row)-1, tt.heading, tt.columns)
			}
			for who, want := range row {
				if who == "message" {
					continue
				}
				if got := tt.try(t, row["message"], who); got != want {
					t.Errorf("%s, %s of %s: %s, and the page says %s", tt.heading, row["message"], who, got, want)
				}
			}
		}
	}
}

func tryMain(t *testing.T, message, who string) string {
	r := newRig(t, Config{})
	a := r.player(0)
	switch who {
	case "with a game":
		a.open(3)
	case "without a game":
	default:
		t.Fatalf("nobody is %q", who)
	}
	switch message {
	case "Ping":
		a.say(mainPort, core.Unordered, &ToMain{Kind: ToMainPing, Ping: 7})
	case "OpenGame":
		a.say(mainPort, core.Unordered, &ToMain{Kind: ToMainOpen, MaxPlayers: 2})
	case "to the others":
		a.tell(mainPort, core.Unordered, chat("hi"))
	case "no message":
		a.sendBytes(mainPort, core.Unordered, true, []byte{9})
	default:
		t.Fatalf("there is no %q", message)
	}
	got := strings.Join(a.heard(), "; ")
	if strings.HasPrefix(got, "GameOpened") {
		got = strings.Fields(got)[0]
	}
	return orNothing(got)
}

func orNothing(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// cast is a game with a player 0 and a player 1, of whom "who" of a column is one, or somebody
// else; and the others who play.
type cast struct {
	*rig
	game   uint16
	who    *player
	others []*player
}

func newCast(t *testing.T, who string) *cast {
	r := newRig(t, Config{})
	c := &cast{rig: r, game: r.next}
	a, b, d, e := r.player(0), r.player(1), r.player(2), r.player(3)
	seats := uint8(3)
	if who == "stranger, full" {
		seats = 2
		b.addr = near(1) // is proven: else it would be asked first
	}
	a.say(mainPort, core.SemiOrdered, &ToMain{Kind: ToMainOpen, MaxPlayers: seats - 1})
	if who != "opener" {
		r.pass(announceAfter)
	}
	a.heard()
	b.say(c.game, core.SemiOrdered, &join)
	c.who, c.others = d, []*player{a, b}
	switch who {
	case "stranger, open", "stranger, full", "stranger, begun":
	case "opener":
		c.who, c.others = a, []*player{b}
	case "player", "player, begun":
		c.who, c.others = b, []*player{a}
	case "elsewhere":
		e.open(2)
		d.say(c.game+1, core.SemiOrdered, &join)
	default:
		t.Fatalf("nobody is %q", who)
	}
	if strings.HasSuffix(who, "begun") {
		m := ready(Ready)
		a.say(c.game, core.SemiOrdered, &m)
		b.say(c.game, core.SemiOrdered, &m)
	}
	for _, p := range []*player{a, b, d, e} {
		p.heard()
	}
	return c
}

func tryGame(t *testing.T, message, who string) string {
	c := newCast(t, who)
	now := NotReady
	if strings.HasSuffix(who, "begun") {
		now = Ready
	}
	say := func(m ToGame) { c.who.say(c.game, core.Unordered, &m) }
	switch message {
	case "Ping":
		say(ToGame{Kind: ToGamePing, Ping: 7})
	case "Join":
		say(join)
	case "Leave":
		say(leave)
	case "Readiness, as it is":
		say(ready(now))
	case "Readiness, one step":
		say(ready(now + 1))
	case "Readiness, one step, as the last":
		for _, p := range c.others {
			m := ready(now + 1)
			p.say(c.game, core.SemiOrdered, &m)
		}
		for _, p := range c.others {
			p.heard()
		}
		if who == "stranger, begun" || who == "stranger, open" || who == "stranger, full" || who == "elsewhere" {
			c = newCast(t, who) // without it all players had moved
		}
		say(ready(now + 1))
	case "Readiness, two steps":
		say(ready(now + 2))
	case "Readiness, a step back":
		say(ready(max(now, 1) - 1))
	case "to the others":
		c.who.tell(c.game, core.Unordered, chat("hi"))
	case "no message":
		c.who.sendBytes(c.game, core.Unordered, true, []byte{9})
	default:
		t.Fatalf("there is no %q", message)
	}
	if who != "opener" {
		c.pass(time.Second)
	} else {
		c.pass(60 * ms) // it is not announced yet
	}
	return c.told()
}

// told says who was told what, as a cell of the page does.
func (c *cast) told() string {
	own := strings.Join(c.who.heard(), "; ")
	others := strings.Join(c.others[0].heard(), "; ")
	for _, p := range c.others[1:] {
		if got := strings.Join(p.heard(), "; "); got != others {
			c.t.Errorf("one of the others was told %q, another %q", others, got)
		}
	}
	switch {
	case others == "":
		return orNothing(own)
	case own == others:
		return "all " + own
	case own == "":
		return "others " + others
	}
	return own + "; others " + others
}

// T27: what comes to a game that is over, and to its port when that is closed, has no effect.
func TestNothingComesAfterTheEnd(t *testing.T) {
	promise.Keeps(t, "T27", "connector", 1)
	r, game, a, b, d := trio(t, Config{})
	for _, p := range []*player{a, b, d} {
		p.say(game, core.Unordered, &leave)
		p.heard()
	}
	if r.lobby.Games() != 1 || r.lobby.Players() != 0 {
		t.Fatalf("%d games, %d players", r.lobby.Games(), r.lobby.Players())
	}
	r.events = nil
	for range 2 {
		for _, p := range []*player{a, b, d, r.player(7)} {
			p.say(game, core.Unordered, &join)
			p.say(game, core.Unordered, &ToGame{Kind: ToGamePing})
			p.tell(game, core.Unordered, chat("anybody?"))
			p.tell(game, core.Unreliable, chat("anybody?"))
			p.wantHeard("over")
		}
		r.pass(time.Minute)
	}
	if len(r.ports) != 1 || r.lobby.Games() != 0 || r.lobby.Stats().Closed != 1 || len(r.events) != 0 {
		t.Errorf("%d ports, %d games, %q", len(r.ports), r.lobby.Games(), r.events)
	}
}
