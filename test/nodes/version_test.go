package nodes

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"parley"
	"parley/arena"
	"parley/cluster"
	"parley/cluster/clustertest"
	"parley/internal/patient"
	"parley/world"
)

// versionOf is the arena in a version that computes otherwise than others.
func versionOf(version string) world.Game {
	g := arena.Game()
	step := g.Step
	g.Version = version
	g.Step = func(w *world.World, inputs []world.Input) {
		for range len(version) {
			w.Random().Uint64()
		}
		step(w, inputs)
	}
	return g
}

// aNode is a node, and what starts a server of a game on it.
type aNode struct {
	*cluster.Node
	start func(change ...func(*parley.Config)) (*aServer, error)
}

func nodeFor(t *testing.T, url string, g world.Game) *aNode {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	node, err := cluster.Start(cluster.Config{Name: "test", URLs: []string{url}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	of := parley.ClusterOf(node) // one for all tries, as a server has that waits
	return &aNode{node, func(change ...func(*parley.Config)) (*aServer, error) {
		const any = "127.0.0.1:0"
		c := parley.Config{Replica: any, Stamp: parley.Off, Relay: parley.Off, Duplex: parley.Off, Sight: -1, DataDir: t.TempDir(), Cluster: of, Log: log}
		for _, fn := range change {
			fn(&c)
		}
		s, err := parley.Start(g, c)
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { s.Close() })
		return &aServer{s, node}, nil
	}}
}

func (n *aNode) serve(t *testing.T, change ...func(*parley.Config)) *aServer {
	t.Helper()
	s, err := n.start(change...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// waits starts a server that must wait.
func (n *aNode) waits(t *testing.T, words ...string) {
	t.Helper()
	s, err := n.start()
	if err == nil {
		s.Close()
	}
	for _, want := range words {
		if !errors.Is(err, parley.ErrOtherVersion) || !strings.Contains(err.Error(), want) {
			t.Fatalf("the server says %v, not %s", err, want)
		}
	}
}

// A server with another version of the game waits until those of the version before have ended. It then goes on with their room, and all servers of its
// version compute the same. The version before waits in turn.
func TestAnotherVersion(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	one, also, two, more, back := nodeFor(t, url, versionOf("1")), nodeFor(t, url, versionOf("1")), nodeFor(t, url, versionOf("two")), nodeFor(t, url, versionOf("two")), nodeFor(t, url, versionOf("1"))
	a, b := one.serve(t), also.serve(t)
	two.waits(t, `runs version "1", and this server has "two"`)
	ann := join(t, "ann", a.url("replica"))
	patient.Until(t, "ann is there", func() bool { _, _, ok := ann.look(); return ok })
	was := idOf(t, b, "ann")
	a.end()
	two.waits(t, `runs version "1"`)
	b.end()
	var c *aServer
	patient.Until(t, "the new version takes over", func() bool {
		var err error
		c, err = two.start()
		return err == nil
	})
	d := more.serve(t)
	patient.Until(t, "ann is in its room, away", func() bool {
		list, _ := d.Players()
		for _, p := range list {
			if p.Name == "ann" && int(p.ID) != was {
				t.Fatalf("ann was player %d and is %d", was, p.ID)
			}
			if p.Name == "ann" {
				return true
			}
		}
		return false
	})
	bob, eve := join(t, "bob", c.url("replica")), join(t, "eve", d.url("replica"))
	patient.Until(t, "both see each other and ann", func() bool {
		bob.look()
		eve.look()
		return len(bob.seen) >= 2 && len(eve.seen) >= 2
	})
	bob.Say("hello")
	patient.Until(t, "eve has read it", func() bool { eve.look(); return eve.said["bob: hello"] == 1 })
	back.waits(t, `runs version "two", and this server has "1"`)
	from := d.node.Stats().Ran + d.node.Stats().Made
	patient.Until(t, "two seconds of ticks are compared", func() bool { s := d.node.Stats(); return s.Ran+s.Made > from+40 })
	for _, s := range []*aServer{c, d} {
		if st := s.node.Stats(); st.Diverged > 0 || st.Stopped > 0 || s.Trouble() != nil {
			t.Errorf("a server has diverged: %+v, %v", st, s.Trouble())
		}
	}
}
