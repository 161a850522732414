package nodes

import (
	"log/slog"
	"strings"
	"testing"

	"parley"
	"parley/arena"
	"parley/client"
	"parley/cluster"
	"parley/cluster/clustertest"
	"parley/internal/patient"
	"parley/world"
)

// finish ends the game.
type finish struct {
	Result string `parley:"max=16"`
}

// endingArena is the arena with an action that ends the room.
func endingArena() world.Game {
	g := arena.Game()
	g.Actions = world.Actions(arena.Throw{}, finish{})
	step := g.Step
	g.Step = func(w *world.World, inputs []world.Input) {
		step(w, inputs)
		for i := range inputs {
			if f, ok := world.Read[finish](&inputs[i]); ok && inputs[i].Player == 0 {
				w.End(f.Result)
			}
		}
	}
	return g
}

// A room that its game ends is over at all servers; main begins anew at all. What ends it is injected at a server that does not make the entries.
func TestAGameEndsOnAllServers(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	var servers []*aServer
	for range 2 {
		node, err := cluster.Start(cluster.Config{Name: "test", URLs: []string{url}})
		if err != nil {
			t.Fatal(err)
		}
		const any = "127.0.0.1:0"
		s, err := parley.Start(endingArena(), parley.Config{Replica: any, Stamp: parley.Off, Relay: parley.Off, Duplex: parley.Off, Sight: -1, DataDir: t.TempDir(),
			Cluster: parley.ClusterOf(node), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
		if err != nil {
			node.Close()
			t.Fatal(err)
		}
		a := &aServer{s, node}
		t.Cleanup(a.end)
		servers = append(servers, a)
	}
	a, b := servers[0], servers[1]
	if err := a.Open(parley.Room{Name: "duel"}); err != nil {
		t.Fatal(err)
	}
	for _, room := range []string{"duel", parley.MainRoom, parley.MainRoom} {
		was := roomOf(t, a, room)
		var all []*player
		for i, s := range servers {
			name := []string{"ann", "bob"}[i]
			c, err := dialGame(t, endingArena(), s.url("replica"), client.Config{Name: name, Room: room})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			all = append(all, &player{c, t, name, map[string]int{}, false, 0, map[string]arena.Player{}})
		}
		for _, p := range all {
			patient.Until(t, "both see each other", func() bool { others, _, ok := p.look(); return ok && others == 1 })
		}
		if err := b.Inject(room, finish{"won"}); err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if text := p.ended(); !strings.Contains(text, "the room has ended: won") {
				t.Errorf("%s was told %q", p.name, text)
			}
		}
		for _, s := range servers {
			patient.Until(t, "it is known how it ended", func() bool { e, ok := s.Result(room); return ok && e.Result == "won" })
			patient.Until(t, "it is over, and main begins anew", func() bool {
				r := roomOf(t, s, room)
				return r.Players == 0 && (r.Name == "") == (room == "duel") && r.Tick <= was.Tick+1_000_000
			})
		}
	}
}
