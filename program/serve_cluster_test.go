package program

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	front "parley"
	"parley/arena"
	"parley/client"
	"parley/cluster"
	"parley/internal/patient"
	"parley/web"
)

// freeAddrs returns addresses of this machine that nobody listens at. Their ports are below those that a system gives out by itself, so that no
// connection takes one before the server listens.
func freeAddrs(t *testing.T, n int) (list []string) {
	t.Helper()
	for tries := 0; len(list) < n; tries++ {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10000+rand.IntN(6000)))
		if err != nil && tries < 100 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // when all are found
		list = append(list, l.Addr().String())
	}
	return list
}

// nodesUp starts three nodes of a cluster, at the same time. Each has flags of its own behind those of all.
func nodesUp(t *testing.T, flags ...string) []*serving {
	t.Helper()
	addrs := freeAddrs(t, 3)
	var begun []*begun
	for i, addr := range addrs {
		own := []string{"--cluster", "arena", "--node", fmt.Sprint("node", i+1), "--cluster-listen", addr, "--cluster-peers", strings.Join(addrs, ","),
			"--realm", "off", "--replica", "127.0.0.1:0", "--relay", "127.0.0.1:0", "--web", "127.0.0.1:0"}
		begun = append(begun, begins(t, append(own, flags...)...))
	}
	var list []*serving
	for _, b := range begun {
		list = append(list, b.wait())
	}
	return list
}

// command runs a command of an operator at a server.
func (s *serving) command(line string) result {
	return parley("", line+" --server http://"+s.addrs["web"]+" --token-file "+filepath.Join(s.data, "operator.token"))
}

// says has a player say a line until the other has read it: a line may be lost with the connection that took it.
func says(t *testing.T, from, to *client.Client, text string) {
	t.Helper()
	began := time.Now()
	patient.Until(t, text+" is read", func() bool {
		if time.Since(began) > time.Minute {
			t.Fatalf("%q is not read", text)
		}
		if err := from.Say(text); err != nil {
			t.Logf("it is not said yet: %v", err)
		}
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
			for f := range to.Frames(50) {
				for ev := range f.Events() {
					if ev.Kind == client.Said && ev.Text == text {
						return true
					}
				}
				if time.Now().After(end) {
					break
				}
			}
			if to.Err() != nil {
				t.Fatal(to.Err())
			}
		}
		return false
	})
}

// Three servers with nothing but flags have one room: players of two of them hear each other. An operator sees all at any of them, moves the room, and
// drains a node: its process ends, and its player goes on at another as who it was.
func TestServeInACluster(t *testing.T) {
	t.Parallel() // it waits for most of its time
	list := nodesUp(t)
	urls := []string{"replica://" + list[0].addrs["replica"], "relay://" + list[2].addrs["relay"]}
	var players []*client.Client
	for i, url := range urls {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for len(players) == i {
			c, err := client.Dial(ctx, url, arena.Game(), client.Config{Name: fmt.Sprint("player", i+1)})
			if err != nil && !strings.Contains(err.Error(), "come again") {
				t.Fatal(err)
			} else if err == nil {
				defer c.Close()
				players = append(players, c)
			}
		}
	}
	says(t, players[0], players[1], "hello there")
	var c web.Cluster
	status := func() string {
		got := list[1].command("cluster status --json")
		c = web.Cluster{}
		if err := json.Unmarshal([]byte(got.out), &c); err != nil {
			t.Fatalf("%+v: %v", got, err)
		}
		for _, n := range c.Nodes {
			if len(c.Rooms) == 1 && n.Node == c.Rooms[0].Sequencer {
				return n.Name
			}
		}
		return ""
	}
	patient.Until(t, "all nodes tell about themselves", func() bool {
		status()
		told := 0
		for _, n := range c.Nodes {
			i := int(n.Name[len(n.Name)-1] - '1')
			if n.Addresses["replica"] == list[i].addrs["replica"] && n.Addresses["ws"] == list[i].addrs["play"] && n.Addresses["web"] == "" && n.Here == (i == 1) && n.Rooms == 1 && len(n.Fingerprint) == 16 {
				told++
			}
		}
		return told == 3 && len(c.Rooms) == 1 && len(c.Rooms[0].Stages) == 3
	})
	hashes := map[string]bool{}
	patient.Until(t, "the state changes, on all nodes", func() bool {
		status()
		for _, s := range c.Rooms[0].Stages {
			if hashes[s.Hash] = true; s.Differs {
				t.Fatalf("the room is not the same on all nodes: %+v", c.Rooms)
			}
		}
		return len(hashes) > 3
	})
	patient.Until(t, "the nodes tell who is at them", func() bool { // each once a second
		status()
		for _, n := range c.Nodes {
			if n.Players != map[string]int{"node1": 1, "node3": 1}[n.Name] {
				return false
			}
		}
		return len(c.Nodes) == 3
	})
	for _, to := range []string{"node3", "node1"} {
		if got := list[1].command("cluster move main " + to); got.status != 0 || status() != to {
			t.Fatalf("%+v; the sequencer is %s, want %s", got, status(), to)
		}
	}
	if got := list[1].command("cluster move main node4"); got.status != exitNobody || got.err != "parley: no such node lives: node4\n" {
		t.Errorf("%+v", got)
	}
	if got := list[1].command("cluster drain node1"); got.status != 0 {
		t.Fatalf("%+v", got)
	}
	err := patient.Value(list[0].ended)
	list[0].ended <- err // for the end of the test
	if out := list[0].out.String(); err != nil || !strings.HasSuffix(out, "draining: players go on at other nodes\nclosing, as an operator has asked\n") {
		t.Errorf("the node that was drained says %q, %v", out, err)
	}
	patient.Until(t, "the others know that it has ended", func() bool {
		now := status()
		return len(c.Nodes) == 2 && now != "node1" && now != ""
	})
	says(t, players[0], players[1], "still here")
	metrics := ""
	patient.Until(t, "the room does not stand still", func() bool {
		metrics = page(t, list[1].addrs["web"])
		return strings.Contains(metrics, "parley_cluster_silence_seconds 0")
	})
	for _, want := range []string{"parley_cluster_nodes 2\n", `parley_cluster_rooms{part="s`, `parley_cluster_desyncs_total{part="here"} 0`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics do not have %s:\n%s", want, metrics)
		}
	}
	everybody := list[1].command("players")
	if strings.Count(everybody.out, "player1") != 1 {
		t.Errorf("the player is there as\n%s", everybody.out)
	}
}

// A node tells the others addresses at which players reach it.
func TestWhereANodeIsReached(t *testing.T) {
	every, one := netip.MustParseAddrPort("[::]:7000"), netip.MustParseAddrPort("192.0.2.7:8082")
	addrs := []front.Addr{{Name: "replica", Addr: every}, {Name: "relay", Addr: one}, {Name: "web", Addr: one}}
	for _, tt := range []struct {
		name           string
		f              clusterFlags
		replica, relay string
	}{
		{"the host for players", clusterFlags{host: "game.example", advertise: "a.internal:6222", listen: "10.0.0.1:6222"}, "game.example:7000", "game.example:8082"},
		{"an address of IPv6", clusterFlags{host: "2001:db8::1"}, "[2001:db8::1]:7000", "[2001:db8::1]:8082"},
		{"what is advertised", clusterFlags{advertise: "a.internal:6222", listen: "10.0.0.1:6222"}, "a.internal:7000", "192.0.2.7:8082"},
		{"where the others connect to", clusterFlags{listen: "10.0.0.1:6222"}, "10.0.0.1:7000", "192.0.2.7:8082"},
	} {
		got := tt.f.reachedAt(addrs)
		if got["replica"] != tt.replica || got["relay"] != tt.relay || len(got) != 2 {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

// The load of a process that works is more than that of one that does not.
func TestLoad(t *testing.T) {
	l := newLoad()
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
	}
	if busy := l.since(); busy <= 0 || busy > 1 {
		t.Errorf("a process that works has the load %v", busy)
	}
}

// Flags of a cluster that do not go together are one sentence that names the flag and says what to do.
func TestFlagsOfACluster(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key, 1)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	const ours, off = "--cluster arena --cluster-listen 127.0.0.1:6222 --cluster-peers 127.0.0.1:6223,127.0.0.1:6224", " --realm off"
	for _, tt := range []struct{ flags, want string }{
		{"--nats nats://127.0.0.1:4222" + off, "--nats is given without --cluster;"},
		{"--cluster-listen 127.0.0.1:6222" + off, "--cluster-listen is given without --cluster;"},
		{"--cluster-host game.example" + off, "--cluster-host is given without --cluster;"},
		{"--cluster arena" + off, "--cluster is given without --nats and --cluster-listen"},
		{ours + " --nats nats://127.0.0.1:4222" + off, "not both"},
		{"--cluster arena --nats 127.0.0.1:4222 --cluster-peers 127.0.0.1:6223" + off, "--cluster-peers is given without --cluster-listen"},
		{"--cluster arena --cluster-listen 127.0.0.1:6222 --cluster-advertise a:6222" + off, "--cluster-advertise is given without --cluster-peers"},
		{ours + " --cluster-cert " + cert + off, "--cluster-cert is given without --cluster-key"},
		{ours + " --cluster-key " + key + off, "--cluster-key is given without --cluster-cert"},
		{ours + " --cluster-cert " + cert + " --cluster-key " + key + off, "--cluster-cert is given without --cluster-ca"},
		{ours + " --cluster-ca " + cert + off, "--cluster-ca is given without --cluster-cert"},
		{ours + " --cluster-ca " + key + " --cluster-cert " + cert + " --cluster-key " + key + off, "has no certificate"},
		{ours + " --cluster-ca " + cert + " --cluster-cert " + cert + " --cluster-key " + cert + off, "--cluster-cert and --cluster-key: "},
		{ours, "accounts are in SQLite, which one server has for itself; name a database that all nodes have with --postgres, or give --realm off"},
		{ours + " --keep second --keep-history" + off, "leave out --keep-history"},
		{ours + " --record " + filepath.Join(dir, "rec") + off, "leave out --record"},
		{ours + " --keep minute" + off, "--keep must be"},
		{"--cluster arena --nats http://127.0.0.1:80" + off, "--nats has an address that is none"},
		{"--cluster arena --cluster-listen 6222" + off, `--cluster-listen has "6222"`},
		{"--cluster arena --cluster-listen 127.0.0.1:6222 --cluster-peers 10.0.0.2" + off, `--cluster-peers has "10.0.0.2"`},
		{"--cluster arena --cluster-listen :6222 --cluster-peers 10.0.0.2:6222" + off, "name the one that the other nodes reach with --cluster-advertise"},
		{ours + " --cluster-host game.example:7000" + off, "without a port"},
		{"--cluster arena --cluster-listen " + busy.Addr().String() + " --cluster-peers 127.0.0.1:6223" + off, "choose another port"},
		{"--cluster arena --cluster-listen 192.0.2.1:6222 --cluster-peers 127.0.0.1:6223" + off, "name an address of this machine"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			r := parley("", "serve --web off --play off --stamp off --replica 127.0.0.1:0 --relay off --duplex off --realm-time off --realm 127.0.0.1:0 --data "+t.TempDir()+" "+tt.flags)
			if r.status != 2 || !strings.Contains(r.err, tt.want) || strings.Count(strings.TrimSpace(r.err), "\n") > 0 {
				t.Errorf("status %d: %s", r.status, r.err)
			}
		})
	}
}

// A password in an address of NATS is in no error.
func TestAddressesOfNATSHaveNoPasswords(t *testing.T) {
	r := parley("", "serve --realm off --cluster arena --nats nats//user:secret@127.0.0.1:4222 --data "+t.TempDir())
	if r.status != 2 || strings.Contains(r.err, "secret") {
		t.Errorf("status %d: %s", r.status, r.err)
	}
	n, err := cluster.Start(cluster.Config{Name: "arena", URLs: []string{"nats://user:secret@" + freeAddrs(t, 1)[0]}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := n.Wait(ctx); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "no NATS answers at 127.0.0.1:") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a NATS that is not there: %v", err)
	}
}

// In a cluster, --keep says how far a room that runs on one node alone is ahead of its log: a second, or not at all.
func TestKeepInACluster(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for keep, ahead := range map[string]bool{"second": true, "tick": false} {
		s := begins(t, "--cluster", "arena", "--cluster-listen", freeAddrs(t, 1)[0], "--realm", "off", "--replica", "127.0.0.1:0", "--web", "127.0.0.1:0", "--keep", keep).wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		c, err := client.Dial(ctx, "replica://"+s.addrs["replica"], arena.Game(), client.Config{Name: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		entries := func(fate string) (n int) {
			_, rest, _ := strings.Cut(page(t, s.addrs["web"]), `parley_cluster_entries_total{fate="`+fate+`"} `)
			fmt.Sscan(rest, &n)
			return n
		}
		patient.Until(t, "nine seconds of entries are made", func() bool { return entries("made") > 9*20 })
		if n := entries("ahead"); n > 0 != ahead {
			t.Errorf("--keep %s: %d entries were run before the log had them", keep, n)
		}
	}
}
