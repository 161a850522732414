package bots_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"parley"
	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/play/line"
	"parley/play/message"
	"parley/test/field"
	"parley/world"
)

// guest is a player of a real server, with the notices that matter here.
type guest struct {
	*bots.Player
	notices chan bots.Notice
}

func visit(t *testing.T, dialect, addr string, c bots.Config) *guest {
	t.Helper()
	g := &guest{notices: make(chan bots.Notice, 1000)}
	c.Notice = func(n bots.Notice) {
		if n.Kind >= bots.Ended {
			g.notices <- n
		}
	}
	var err error
	if g.Player, err = bots.Join(t.Context(), dialect, addr, c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close(context.Background()) })
	return g
}

// own returns the number of its entity, 0 if it sees none.
func (g *guest) own() (entity uint16) {
	g.See(func(v *bots.Sight) {
		if _, ok := v.Things[v.You]; ok {
			entity = v.You
		}
	})
	return entity
}

// wants returns the next notice, which is of that kind.
func (g *guest) wants(t *testing.T, kind bots.NoticeKind) bots.Notice {
	t.Helper()
	n := patient.Value(g.notices)
	if n.Kind != kind {
		t.Fatalf("it is told %+v, not a notice of kind %d", n, kind)
	}
	return n
}

// returns reports whether all players of a dialect would be held. A client that has its token is not enough: the server must have
// its acknowledgement.
func returns(t *testing.T, s *field.Server, dialect string) bool {
	t.Helper()
	list, err := s.Players()
	if err != nil {
		t.Fatal(err)
	}
	return !slices.ContainsFunc(list, func(p parley.Player) bool { return p.Dialect == dialect && !p.Returns })
}

// Over each dialect a player whose network fails comes back to its own entity, by itself, and plays on.
func TestANetworkFails(t *testing.T) {
	t.Parallel() // it waits for most of its time
	if testing.Short() {
		t.Skip("a silent network is found after ten seconds")
	}
	s := serve(t)
	for _, dialect := range bots.Dialects {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			cable := field.NewCable(t, s.At[dialect])
			g := visit(t, dialect, cable.Addr(), bots.Config{Schema: s.Schema, Name: "ann", Password: "correct horse", Resume: line.Resume{On: true}})
			watches := dialect == "stamp"
			s.Within(t, "it is in the game, and can come back", func() bool {
				return watches || g.own() != 0 && returns(t, s, dialect)
			})
			entity := g.own()
			cable.Cut()
			g.wants(t, bots.Away)
			if err := g.Steer(0, 1); err != bots.ErrAway && !watches {
				t.Errorf("steering while it is away: %v", err)
			}
			cable.Mend()
			n := g.wants(t, bots.Back)
			t.Logf("away for %v", n.Absence)
			if n.Same == watches || n.Absence <= 0 {
				t.Errorf("%+v", n)
			}
			if watches {
				return
			}
			s.Within(t, "it sees its entity", func() bool { return g.own() != 0 })
			if g.own() != entity {
				t.Errorf("it had entity %d, and has %d", entity, g.own())
			}
			if err := g.Steer(1.25, 1); err != nil {
				t.Error(err)
			}
			s.Within(t, "it walks", func() bool {
				own, _ := g.Own()
				return own.Angle == 1.25 && own.Norm == 1
			})
		})
	}
}

// A player who goes on elsewhere, with the same token, is out where it was: it does not come back to take its place again.
func TestAPlayerGoesOnElsewhere(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := serve(t)
	field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema}) // so that ticks go on
	for _, dialect := range []string{"replica", "relay", "duplex"} {
		for _, other := range []string{"replica", "relay", "duplex"} {
			t.Run(dialect+" to "+other, func(t *testing.T) {
				g := visit(t, dialect, s.At[dialect], bots.Config{Schema: s.Schema, Room: "main", Name: "bob", Resume: line.Resume{On: true, Anew: true}})
				var token message.Token
				s.Within(t, "it is in the game, and can come back", func() bool {
					token, _ = g.Session()
					return token != message.Token{} && g.own() != 0
				})
				next := visit(t, other, s.At[other], bots.Config{Schema: s.Schema, Session: token})
				g.wants(t, bots.Ended)
				s.Within(t, "it sees its entity", func() bool { return next.own() != 0 })
				if next.own() != g.own() {
					t.Errorf("it had entity %d, and has %d", g.own(), next.own())
				}
			})
		}
	}
}

// A server that keeps its rooms is stopped and started again: its players come back by themselves, each as the same player, and
// bots have no errors.
func TestAServerRestarts(t *testing.T) {
	t.Parallel() // it waits for most of its time
	config := field.Config()
	config.DataDir, config.Keep = t.TempDir(), parley.KeepTick
	s, err := field.Start(arena.Game(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	config.Replica, config.Stamp, config.Relay, config.Duplex, config.Realm = s.At["replica"], s.At["stamp"], s.At["relay"], s.At["duplex"], s.At["realm"]
	players := map[string]*guest{}
	for _, dialect := range bots.Dialects {
		players[dialect] = visit(t, dialect, s.At[dialect], bots.Config{
			Schema: s.Schema, Room: map[bool]string{true: "main"}[line.HasSessions(dialect)], Name: dialect + "-ann", Password: "correct horse", Plain: true, Resume: line.Resume{On: true},
		})
	}
	crowd := bots.Crowd{
		Addrs: s.At, Bots: map[string]int{"replica": 2, "stamp": 2, "relay": 2, "duplex": 2, "realm": 2}, Seed: 1,
		Config: bots.Config{Schema: s.Schema, Plain: true, Resume: line.Resume{On: true}},
	}
	var joined sync.WaitGroup
	joined.Add(10)
	crowd.Joined = joined.Done
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	results := make(chan []bots.Result, 1)
	go func() { results <- crowd.Run(ctx) }()
	patient.Done(joined.Wait)
	numbers := func() map[string]world.PlayerID {
		list, err := s.Players()
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]world.PlayerID{}
		for _, p := range list {
			if !p.Away {
				ids[p.Name] = p.ID
			}
		}
		return ids
	}
	for range 2 {
		s.Within(t, "all are in", func() bool { return len(numbers()) == 4+8 })
		for dialect, g := range players {
			s.Within(t, dialect+" can come back", func() bool {
				return dialect == "stamp" || g.own() != 0 && returns(t, s, dialect)
			})
		}
		before := numbers()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = field.Start(arena.Game(), config); err != nil {
			t.Fatal(err)
		}
		for dialect, g := range players {
			g.wants(t, bots.Away)
			if n := g.wants(t, bots.Back); n.Same == (dialect == "stamp") {
				t.Errorf("%s: %+v", dialect, n)
			}
		}
		s.Within(t, "all are back", func() bool { return len(numbers()) == 4+8 })
		if now := numbers(); !maps.Equal(before, now) {
			t.Errorf("the players were %v, and are %v", before, now)
		}
		back := s.WorldStats().Ticks
		s.Within(t, "bots have seen it", func() bool { return s.WorldStats().Ticks > back+40 })
	}
	stop()
	for _, r := range patient.Value(results) {
		t.Logf("%+v", r)
		if watches := r.Dialect == "stamp"; r.Errors > 0 || r.Away < 2 || r.Same != r.Away && !watches || r.AwayP50 == 0 {
			t.Errorf("%+v", r)
		}
	}
}
