package nodes

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/arena"
	"parley/client"
	"parley/cluster"
	"parley/cluster/clustertest"
	"parley/internal/patient"
	"parley/world"
)

// a server is a node with a server of the arena.
type aServer struct {
	*parley.Server
	node *cluster.Node
}

func serve(t *testing.T, url string, change ...func(*parley.Config)) *aServer {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	node, err := cluster.Start(cluster.Config{Name: "test", URLs: []string{url}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	const any = "127.0.0.1:0"
	c := parley.Config{Replica: any, Stamp: any, Relay: any, Duplex: any, Sight: -1, DataDir: t.TempDir(), Cluster: parley.ClusterOf(node), Log: log}
	for _, fn := range change {
		fn(&c)
	}
	s, err := parley.Start(arena.Game(), c)
	if err != nil {
		node.Close()
		t.Fatal(err)
	}
	a := &aServer{s, node}
	t.Cleanup(a.end)
	return a
}

func (s *aServer) end() {
	s.Close()
	s.node.Close()
}

func (s *aServer) url(dialect string) string {
	for _, a := range s.Addrs() {
		if a.Name == dialect {
			return dialect + "://" + a.Addr.String()
		}
	}
	panic("no dialect " + dialect)
}

// player is somebody who plays, and remembers what was said.
type player struct {
	*client.Client
	t    *testing.T
	name string
	said map[string]int
	away bool
	lost int                     // how often its connection was
	seen map[string]arena.Player // of the last frame
}

func join(t *testing.T, name, urls string) *player {
	t.Helper()
	return joinAs(t, name, urls, client.Config{Name: name})
}

func joinAs(t *testing.T, name, urls string, config client.Config) *player {
	t.Helper()
	c, err := dial(t, urls, config)
	if err != nil {
		t.Fatalf("%s does not come in: %v", name, err)
	}
	t.Cleanup(func() { c.Close() })
	return &player{c, t, name, map[string]int{}, false, 0, map[string]arena.Player{}}
}

func dial(t *testing.T, urls string, config client.Config) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return client.Dial(ctx, urls, arena.Game(), config)
}

func dialGame(t *testing.T, g world.Game, urls string, config client.Config) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return client.Dial(ctx, urls, g, config)
}

// look reads a frame: how many others are in sight, and where the own body is.
func (p *player) look() (others int, me arena.Player, ok bool) {
	f := p.At(time.Now())
	for ev := range f.Events() {
		switch {
		case ev.Kind == client.Said:
			p.said[ev.Name+": "+ev.Text]++
		case ev.Own && (ev.Kind == client.Away || ev.Kind == client.Back):
			if p.away = ev.Kind == client.Away; p.away {
				p.lost++
			}
			p.t.Logf("%s: %s, away: %t, %s", p.name, p.URL(), p.away, ev.Text)
		case ev.Kind == client.Ended:
			p.t.Fatalf("%s is out of the game: %s", p.name, ev.Text)
		}
	}
	clear(p.seen)
	for id, other := range client.All[arena.Player](f) {
		if p.seen[f.Name(id)] = *other; id != f.Own() {
			others++
		}
	}
	if own, there := client.Own[arena.Player](f); there {
		me, ok = *own, true
	}
	return others, me, ok
}

// Two players at two servers are in one world: they see each other, walk, and read what the other says, once.
func TestOneWorldOnTwoServers(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	a, b := serve(t, url), serve(t, url)
	for _, dialects := range [][2]string{{"replica", "relay"}, {"duplex", "replica"}, {"relay", "duplex"}} {
		t.Run(dialects[0]+" and "+dialects[1], func(t *testing.T) {
			ann, bob := join(t, "ann", a.url(dialects[0])), join(t, "bob", b.url(dialects[1]))
			for _, p := range []*player{ann, bob} {
				patient.Until(t, "both see each other", func() bool { others, _, ok := p.look(); return ok && others >= 1 })
			}
			for _, p := range []*player{ann, bob} {
				_, from, _ := p.look()
				p.Steer(1, 0.2)
				patient.Until(t, "it walks", func() bool {
					_, me, ok := p.look()
					dx, dy := me.X-from.X, me.Y-from.Y
					return ok && dx*dx+dy*dy > 1
				})
				p.Steer(1, 0)
				p.Say("hello from " + p.name)
			}
			for _, p := range []*player{ann, bob} {
				patient.Until(t, "both have read both", func() bool {
					p.look()
					return p.said["ann: hello from ann"] == 1 && p.said["bob: hello from bob"] == 1
				})
			}
			for _, s := range []*aServer{a, b} {
				list, err := s.Players()
				if err != nil || len(list) != 2 {
					t.Errorf("%d players, %v", len(list), err)
				}
			}
			ann.Close()
			bob.Close()
			for _, s := range []*aServer{a, b} {
				patient.Until(t, "all have left", func() bool { list, _ := s.Players(); return len(list) == 0 })
			}
		})
	}
}

// A server of another game is told so, and does not start.
func TestAnotherGame(t *testing.T) {
	url := clustertest.NATS(t)
	serve(t, url)
	node, err := cluster.Start(cluster.Config{Name: "test", URLs: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	other := arena.Game()
	other.Actions = world.Actions(arena.Throw{}, wave{})
	s, err := parley.Start(other, parley.Config{Replica: "127.0.0.1:0", Stamp: parley.Off, Relay: parley.Off, Duplex: parley.Off, DataDir: t.TempDir(), Cluster: parley.ClusterOf(node)})
	if err == nil {
		s.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "serve it in a cluster of its own") {
		t.Errorf("%v", err)
	}
}

type wave struct{ Hand uint8 }
