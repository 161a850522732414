package program

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/arena"
	"parley/client"
	"parley/internal/patient"
	"parley/web"
)

// A client of each dialect plays over WebTransport, whose certificate it knows by the hash that the server tells. It is kicked, and told so at
// once. A spectator of stamp sees it.
func TestServeOverWebTransport(t *testing.T) {
	t.Parallel() // it waits for most of its time
	data := filepath.Join(t.TempDir(), "data")
	s := serves(t, "--data", data, "--web", "127.0.0.1:0", "--replica", "127.0.0.1:0", "--stamp", "127.0.0.1:0", "--relay", "127.0.0.1:0", "--duplex", "127.0.0.1:0", "--registrations", "-1")
	res, err := http.Get("http://" + s.addrs["play"] + "/play/server")
	if err != nil {
		t.Fatal(err)
	}
	var about web.PlayServer
	err = json.NewDecoder(res.Body).Decode(&about)
	res.Body.Close()
	if err != nil || about.WebTransport == nil || len(about.WebTransport.Hashes) != 2 || about.WebTransport.Port == 0 {
		t.Fatalf("/play/server: %+v, %v", about.WebTransport, err)
	}
	for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		c, err := client.Dial(ctx, dialect+"+wt://"+s.addrs["play"], arena.Game(), client.Config{Name: "ada-" + dialect, Password: "correct horse"})
		if err != nil {
			t.Errorf("%s: %v", dialect, err)
			cancel()
			continue
		}
		if err := c.Say("hello"); err != nil {
			t.Errorf("%s: %v", dialect, err)
		}
		said := false
		for f := range c.Frames(200) {
			for ev := range f.Events() {
				said = said || ev.Kind == client.Said && ev.Text == "hello"
			}
			if said || ctx.Err() != nil {
				break
			}
		}
		if !said {
			t.Errorf("%s: what was said is not heard: %v", dialect, c.Err())
		}
		if dialect == "replica" {
			wantSeen(t, ctx, s.addrs["play"])
		}
		operator := " --server http://" + s.addrs["web"] + " --token-file " + filepath.Join(data, "operator.token")
		var list struct {
			Players []struct{ ID int }
		}
		if err := json.Unmarshal([]byte(parley("", "players --json"+operator).out), &list); err != nil || len(list.Players) != 1 {
			t.Fatalf("%s: the players are %v, %v", dialect, list, err)
		}
		begun := time.Now()
		parley("", fmt.Sprint("kick main ", list.Players[0].ID, operator, " --reason enough"))
		for range c.Frames(200) {
			if ctx.Err() != nil {
				break
			}
		}
		if took := time.Since(begun); c.Err() == nil || took > 5*time.Second {
			t.Errorf("%s: it was kicked, and is told %v after %v", dialect, c.Err(), took)
		}
		patient.Until(t, "its session is over", func() bool {
			return strings.Contains(page(t, s.addrs["web"]), fmt.Sprintf("parley_browser_sessions{dialect=%q} 0\n", dialect))
		})
		if took := time.Since(begun); took > 8*time.Second {
			t.Errorf("%s: its session was over after %v", dialect, took)
		}
		c.Close()
		cancel()
	}
	if text := page(t, s.addrs["web"]); !strings.Contains(text, "parley_webtransport_connections_total{fate=\"proven\"} 5\n") || !strings.Contains(text, "parley_webtransport_waiting 0\n") {
		t.Errorf("/metrics does not have the connections:\n%s", text)
	}
}

// wantSeen wants that a spectator over WebTransport sees a player.
func wantSeen(t *testing.T, ctx context.Context, addr string) {
	t.Helper()
	c, err := client.Dial(ctx, "stamp+wt://"+addr, arena.Game(), client.Config{})
	if err != nil {
		t.Errorf("stamp: %v", err)
		return
	}
	defer c.Close()
	for f := range c.Frames(200) {
		for range client.All[arena.Player](f) {
			return
		}
		if ctx.Err() != nil {
			break
		}
	}
	t.Errorf("stamp: no player is seen: %v", c.Err())
}

// page returns the metrics of a server.
func page(t *testing.T, addr string) string {
	t.Helper()
	res, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// An operator sees where each dialect is, also for browsers: "addresses by dialect and carrier" (entry).
func TestTheServerTellsWhereBrowsersComeIn(t *testing.T) {
	t.Parallel()
	cert, key := filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	writeCertificate(t, cert, key, 7)
	for carrier, flags := range map[string][]string{"ws": nil, "wss": {"--tls-cert", cert, "--tls-key", key}, "": {"--play", "off"}} {
		s := serves(t, append(flags, "--web", "127.0.0.1:0", "--replica", "127.0.0.1:0", "--realm-time", "127.0.0.1:0")...)
		token, err := os.ReadFile(filepath.Join(s.data, "operator.token"))
		if err != nil {
			t.Fatal(err)
		}
		r, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.addrs["web"]+"/v1/server", nil)
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var server web.Server
		err = json.NewDecoder(res.Body).Decode(&server)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, a := range server.Addresses {
			got[a.Dialect+"/"+a.Carrier] = a.Address
		}
		want := map[string]string{"replica/udp": s.addrs["replica"], "realm/tls": s.addrs["realm"], "realm-time/udp": s.addrs["realm-time"]}
		if carrier != "" {
			for _, d := range []string{"replica", "realm"} {
				want[d+"/"+carrier], want[d+"/wt"] = s.addrs["play"], s.addrs["play"]
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%q: the addresses are %v, want %v", carrier, got, want)
		}
	}
}
