package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	front "parley"
	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/protocol/relay"
	"parley/web"
	"parley/world"
)

// A counter that is added to a Stats struct is in a metric, or in the list of those that are left out. A metric is made of
// counters that there are.
func TestEveryCounterHasAMetric(t *testing.T) {
	for _, fault := range web.Check(counters{}) {
		t.Error(fault)
	}
}

// /metrics answers, whichever dialects are on: no two counters of a dialect make the same series.
func TestEveryDialectHasItsOwnSeries(t *testing.T) {
	for _, off := range []string{"Relay", "Connector"} { // one takes the place of the other
		var st front.Stats
		v := reflect.ValueOf(&st).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Pointer && v.Type().Field(i).Name != off {
				f.Set(reflect.New(f.Type().Elem()))
			}
		}
		w := httptest.NewRecorder()
		web.Handler(web.Config{Stats: func() any { return st }}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		if w.Code != http.StatusOK {
			t.Errorf("without %s: status %d: %s", off, w.Code, w.Body)
		}
		for _, dialect := range []string{"replica", "stamp", "relay", "duplex", "realm"} {
			if want := fmt.Sprintf(`parley_connections_total{dialect="%s",fate="opened"} 0`, dialect); !strings.Contains(w.Body.String(), want) {
				t.Errorf("without %s there is no %s", off, want)
			}
		}
	}
}

// scrape returns the metrics of a page, and the names and labels of the series in it, in order.
func scrape(t *testing.T, page *web.Page) (body string, series []string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	r, err := client.Get("http://" + page.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("status %d, %v:\n%s", r.StatusCode, err, b)
	}
	series = regexp.MustCompile(`(?m)^parley_[a-z_]+(\{.*\})? `).FindAllString(string(b), -1)
	slices.Sort(series)
	return string(b), series
}

// enter joins, and tries again if the server is busy.
func enter(t *testing.T, dialect, addr string, config func() bots.Config) *bots.Player {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		p, err := bots.Join(ctx, dialect, addr, config())
		if err == nil {
			t.Cleanup(func() { p.Close(context.WithoutCancel(t.Context())) })
			return p
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: %v", dialect, err)
		}
	}
}

// Players with names that are meant to be read as something else join over several dialects, play and chat. The series of
// /metrics are the same as before, and no label has a player's name, address or text.
func TestNoPlayerIsInALabel(t *testing.T) {
	t.Parallel() // it waits for most of its time
	patient.Test(t)
	key := relay.TicketKey("sixteen bytes and more")
	s, addrs, _ := serveArena(t, func(c *front.Config) { c.TicketKey, c.DataDir = key, t.TempDir() })
	f := serveFlags{app: ours(), web: "127.0.0.1:0", data: t.TempDir()}
	page, err := f.page(s)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close(t.Context())
	_, before := scrape(t, page)
	if n := len(before); n < 300 || n > 1000 {
		t.Errorf("%d series with the arena", n)
	}

	sim, err := world.New(arena.Game(), world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var players []*bots.Player
	for i, name := range []string{`evil"} 1`, "evil\nparley_players 9", `evil\`, `evil{dialect="x"}`, "evil\u202ename", strings.Repeat("evil", 16)} {
		if _, err := relay.NewTicket(key, "main", name, time.Hour); err != nil {
			continue // no ticket can have this name
		}
		dialect := []string{"replica", "relay", "duplex"}[i%3]
		players = append(players, enter(t, dialect, addrs[dialect], func() bots.Config {
			ticket, err := relay.NewTicket(key, "main", name, time.Hour)
			if err != nil {
				t.Error(err)
			}
			return bots.Config{Schema: sim.Schema(), Name: name, Ticket: ticket}
		}))
	}
	players = append(players, enter(t, "realm", addrs["realm"], func() bots.Config {
		return bots.Config{Schema: sim.Schema(), Name: "evilaccount", Password: "correct horse", Plain: true}
	}))
	if len(players) < 4 {
		t.Errorf("only %d players came", len(players))
	}
	for s.WorldStats().Players < len(players) { // a player who is not in the game cannot chat
		time.Sleep(time.Millisecond)
	}
	for _, p := range players {
		if err := errors.Join(p.Steer(1, 1), p.Say(t.Context(), "evil line")); err != nil {
			t.Error(err)
		}
	}

	body, after := scrape(t, page)
	said := fmt.Sprintf("\nparley_chat_lines_total{fate=\"said\"} %d\n", len(players))
	for !strings.Contains(body, said) { // the page may be older than the last line
		time.Sleep(10 * time.Millisecond)
		body, after = scrape(t, page)
	}
	if strings.Contains(body, "evil") {
		t.Error("a player's name or text is in the metrics")
	}
	for _, addr := range addrs {
		if host, port, _ := net.SplitHostPort(addr); strings.Contains(body, host) || strings.Contains(body, `"`+port) {
			t.Errorf("the address %s is in the metrics", addr)
		}
	}
	for _, x := range after {
		if !slices.Contains(before, x) && !strings.HasPrefix(x, "parley_account_results_total") { // of which only results that occurred are there
			t.Errorf("%s is new", x)
		}
	}
}
