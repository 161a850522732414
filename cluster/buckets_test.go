package cluster

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"parley/cluster/clustertest"
	"parley/internal/patient"
)

// operator returns a client of a NATS.
func operator(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// Streams that an earlier release has made get the settings of this one, and keep what they have. All are there when the node is ready: one that was made
// later would need all servers again.
func TestStreamsOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	js := operator(t, url)
	old := logConfig(3)
	old.MaxAge, old.Replicas = 30*24*time.Hour, 1
	_, err := js.CreateStream(t.Context(), old)
	if err == nil {
		_, err = js.Publish(t.Context(), "parley.log.3.main", []byte("an entry"))
	}
	if err != nil {
		t.Fatal(err)
	}
	newNode(t, Config{URLs: []string{url}})
	for _, name := range streamNames() {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c := s.CachedInfo().Config; c.MaxAge != 0 && c.MaxAge != lease || c.Replicas != 1 {
			t.Errorf("%s: %+v", name, c)
		}
		if s.CachedInfo().State.Msgs != 1 && name == old.Name {
			t.Errorf("%s has %d entries", name, s.CachedInfo().State.Msgs)
		}
	}
}

// A stream that NATS cannot change is not waited for: the node says what can be done.
func TestAStreamThatCannotBeChanged(t *testing.T) {
	t.Parallel()
	url := clustertest.NATS(t)
	c := logConfig(5)
	c.Storage = jetstream.MemoryStorage
	if _, err := operator(t, url).CreateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	n, err := Start(Config{Name: "test", URLs: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	if err := n.Wait(t.Context()); !errors.Is(err, ErrSettings) {
		t.Error(err)
	}
}

// A cluster of two nodes becomes one of three: what it has is on all three then.
func TestAClusterGrows(t *testing.T) {
	t.Parallel()
	addrs := freePorts(t, 3)
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	start := func(count int) (list []*Node) {
		for i := range count {
			n, err := Start(Config{Name: "test", Listen: addrs[i], Peers: slices.Delete(slices.Clone(addrs[:count]), i, i+1), Dir: dirs[i]})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(n.Close)
			list = append(list, n)
		}
		for _, n := range list {
			patient.Value(n.Ready())
		}
		return list
	}
	two := start(2)
	if _, err := two[0].CreateRoom(t.Context(), "main", []byte("settings")); err != nil {
		t.Fatal(err)
	}
	for _, n := range two {
		n.Close()
	}
	three := start(3)
	if settings, ok, err := three[2].RoomSettings(t.Context(), "main"); string(settings) != "settings" || !ok || err != nil {
		t.Errorf("%q, %v, %v", settings, ok, err)
	}
	for _, name := range streamNames() {
		patient.Until(t, name+" is on three nodes", func() bool {
			s, err := three[0].js.Stream(t.Context(), name)
			if err != nil {
				return false
			}
			info := s.CachedInfo()
			return info.Config.Replicas == 3 && info.Cluster != nil && len(info.Cluster.Replicas) == 2 && !slices.ContainsFunc(info.Cluster.Replicas, func(p *jetstream.PeerInfo) bool { return !p.Current })
		})
	}
}

// A node that was alone does not join others: NATS would remove its rooms.
func TestANodeThatWasAlone(t *testing.T) {
	t.Parallel()
	addrs, dir := freePorts(t, 3), t.TempDir()
	alone := Config{Listen: addrs[0], Dir: dir}
	n := newNode(t, alone)
	if _, err := n.CreateRoom(t.Context(), "main", []byte("settings")); err != nil {
		t.Fatal(err)
	}
	n.Close()
	if n, err := Start(Config{Name: "test", Listen: addrs[0], Peers: addrs[1:], Dir: dir}); !errors.Is(err, ErrAlone) {
		t.Error(err)
		n.Close()
	}
	n = newNode(t, alone)
	if settings, ok, err := n.RoomSettings(t.Context(), "main"); string(settings) != "settings" || !ok || err != nil {
		t.Errorf("%q, %v, %v", settings, ok, err)
	}
	n.Close()
	cluster := Config{Name: "test", Listen: addrs[1], Peers: []string{addrs[2]}, Dir: t.TempDir()}
	for range 2 { // a folder of a cluster is taken again
		n, err := Start(cluster)
		if err != nil {
			t.Fatal(err)
		}
		n.Close()
	}
}

// Five servers of which two may be lost need five replicas.
func TestReplicas(t *testing.T) {
	for _, tt := range []struct {
		nodes int
		want  []int
	}{{1, []int{1}}, {2, []int{1}}, {3, []int{3}}, {4, []int{3}}, {5, []int{5, 3}}, {7, []int{5, 3}}} {
		n := &Node{cfg: Config{Listen: "a", Peers: make([]string, tt.nodes-1)}}
		if got := n.replicas(); !slices.Equal(got, tt.want) {
			t.Errorf("%d nodes: %v, want %v", tt.nodes, got, tt.want)
		}
	}
	if got := (&Node{cfg: Config{URLs: []string{"nats://a"}}}).replicas(); !slices.Equal(got, []int{3, 1}) {
		t.Errorf("the operator's NATS: %v", got)
	}
}

// A node may end while its streams are being made. What NATS leaves behind then, TestMain knows of.
func TestANodeThatEndsAsItStarts(t *testing.T) {
	t.Parallel()
	for i := range 40 {
		n, err := Start(Config{Name: "test", Listen: freePorts(t, 1)[0], Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(i) * time.Millisecond)
		n.Close()
	}
}
