package program

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	front "parley"
	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
	ground "parley/test/field"
)

// proxied listens for clients of a server, and says to it that they come from an address.
func proxied(t *testing.T, server, from string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	t.Cleanup(func() { l.Close(); patient.Done(group.Wait) })
	group.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			behind, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			fmt.Fprintf(behind, "PROXY TCP4 %s 198.51.100.1 4711 443\r\n", from)
			for _, way := range [][2]net.Conn{{client, behind}, {behind, client}} {
				group.Go(func() {
					io.Copy(way[0], way[1])
					way[0].Close()
				})
			}
		}
	})
	return l.Addr().String()
}

// Players of realm and duplex behind a proxy have their true addresses, and a ban of one concerns nobody else there.
func TestPlayersBehindAProxyHaveTheirAddresses(t *testing.T) {
	s, addrs, _ := serveArena(t, func(c *front.Config) {
		c.RealmPlain, c.Proxies = false, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	schema := ground.Schema(t, arena.Game())
	realm := ground.Enter(t, "realm", proxied(t, addrs["realm"], "203.0.113.5"), bots.Config{Schema: schema, New: true, Name: "ada", Password: "correct horse battery"})
	ground.Enter(t, "duplex", proxied(t, addrs["duplex"], "203.0.113.6"), bots.Config{Schema: schema})
	players, err := s.Players()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range players {
		got[p.Dialect] = p.Carrier + " " + p.Addr.String()
	}
	if len(players) != 2 || got["realm"] != "tls 203.0.113.5:4711" || got["duplex"] != "tcp 203.0.113.6:4711" {
		t.Errorf("the players are %v", got)
	}
	if err := s.Ban(front.Ban{Prefix: netip.MustParsePrefix("203.0.113.5/32"), Reason: "a drill"}); err != nil {
		t.Fatal(err)
	}
	patient.Until(t, "the banned player is gone, and no other", func() bool {
		players, err := s.Players()
		return err == nil && len(players) == 1 && players[0].Dialect == "duplex"
	})
	patient.Until(t, "its client knows", func() bool { return realm.Ended() != "" })
}

func TestNetworksOfProxies(t *testing.T) {
	for _, bad := range []string{"0.0.0.0/0", "10.0.0.0/33", "proxy.example"} {
		r := parley("", "serve --behind-proxy "+bad+" --data "+t.TempDir())
		if r.status != 2 || !strings.Contains(r.err, "--behind-proxy: ") {
			t.Errorf("%s: status %d: %s", bad, r.status, r.err)
		}
	}
	if _, err := filled(t, `behind-proxy = "10.0.0.0/8, 192.0.2.7"`); err != nil {
		t.Error(err)
	}
}
