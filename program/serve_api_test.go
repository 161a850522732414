package program

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	front "parley"
	"parley/arena"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/protocol/relay"
	ground "parley/test/field"
	"parley/web"
	"parley/world"
)

// caller calls the API of a server.
type caller struct {
	t     *testing.T
	url   string
	token string
	http  http.Client
}

// operated is a server of the arena with its page, and a caller of its API.
func operated(t *testing.T, change ...func(*front.Config)) (*front.Server, map[string]string, *caller) {
	t.Helper()
	dir := t.TempDir()
	s, addrs, _ := serveArena(t, append(change, func(c *front.Config) { c.DataDir = dir })...)
	return s, addrs, newCaller(t, s, dir)
}

// newCaller has a page for a server whose data are in a folder, and calls its API.
func newCaller(t *testing.T, s *front.Server, dir string) *caller {
	t.Helper()
	f := serveFlags{app: ours(), web: "127.0.0.1:0", data: dir, realmPlain: true, tickRate: 20}
	page, err := f.page(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { page.Close(t.Context()) })
	token, err := web.OperatorToken(dir)
	if err != nil {
		t.Fatal(err)
	}
	c := &caller{t: t, url: "http://" + page.Addr().String(), token: token}
	c.http.Transport = &http.Transport{DisableKeepAlives: true}
	c.http.Timeout = time.Minute
	return c
}

// do makes a call, reads its answer into into if that is not nil, and returns the status and the text.
func (c *caller) do(method, path, body string, into any) (int, string) {
	c.t.Helper()
	r, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if strings.Contains(string(text), ":null") { // the document has no field that may be null
		c.t.Errorf("%s %s: %s", method, path, text)
	}
	if into != nil && res.StatusCode < 300 {
		if err := json.Unmarshal(text, into); err != nil {
			c.t.Fatalf("%s %s: %s: %v", method, path, text, err)
		}
	}
	return res.StatusCode, string(text)
}

// want fails the test unless a call has a status, and its text has a part.
func (c *caller) want(status int, part, method, path, body string) {
	c.t.Helper()
	if got, text := c.do(method, path, body, nil); got != status || !strings.Contains(text, part) {
		c.t.Errorf("%s %s %s: status %d, want %d: %s", method, path, body, got, status, text)
	}
}

// The calls of the API do to a running server what they say.
func TestTheAPIOfAServer(t *testing.T) {
	s, addrs, c := operated(t)
	c.want(200, `{"level":"error"}`, "PUT", "/v1/log", `{"level":"error"}`)
	c.want(204, "", "POST", "/v1/say", `{"text":"it is quiet"}`)
	c.want(200, `{"level":"error","lines":[{`, "GET", "/v1/log", "")
	c.want(200, `{"level":"debug"}`, "PUT", "/v1/log", `{"level":"debug"}`)
	var server web.Server
	if c.do("GET", "/v1/server", "", &server); server.Name != "arena" || server.TickRate != 20 || server.Rooms != 1 || len(server.Addresses) != 7 || server.Node == "" || server.Version == "" {
		t.Errorf("%+v", server)
	}
	for _, a := range server.Addresses {
		carrier := map[string]string{"duplex": "tcp", "realm": "tcp"}[a.Dialect]
		if carrier == "" {
			carrier = "udp"
		}
		if a.Address != addrs[a.Dialect] || a.Carrier != carrier {
			t.Errorf("%+v", a)
		}
	}

	var room web.Room
	if status, text := c.do("POST", "/v1/rooms", `{"name":"duel-7","mode":"duel","seed":"18446744073709551615","max_players":2,"open":false,"accounts":["ann"],"idle":-1}`, &room); status != 201 {
		t.Fatalf("status %d: %s", status, text)
	}
	if room.Name != "duel-7" || room.State != web.Asleep || room.Mode != "duel" || room.Seed != 1<<64-1 || room.MaxPlayers != 2 || room.Open || room.Accounts[0] != "ann" || room.Idle != -1 {
		t.Errorf("%+v", room)
	}
	c.want(409, "there is a room of that name", "POST", "/v1/rooms", `{"name":"duel-7"}`)
	c.want(400, `\"Duel\": a name has 1 to 32`, "POST", "/v1/rooms", `{"name":"Duel"}`)
	c.want(400, "MaxPlayers must be", "POST", "/v1/rooms", `{"name":"a","max_players":-1}`)
	c.want(400, "", "POST", "/v1/rooms", `{"name":"a","mode":"`+strings.Repeat("m", 256)+`"}`)
	c.want(200, `"name":"duel-7"`, "GET", "/v1/rooms", "")
	c.want(201, `"idle":60`, "POST", "/v1/rooms", `{"name":"short"}`)
	c.want(204, "", "DELETE", "/v1/rooms/short", "")
	c.want(404, "no such room: short", "GET", "/v1/rooms/short", "")
	c.want(404, "no such room", "DELETE", "/v1/rooms/short", "")
	c.want(409, "main ends with the server", "DELETE", "/v1/rooms/main", "")
	c.want(404, "no such room", "GET", "/v1/rooms/short/players", "")
	c.want(200, `{"players":[]}`, "GET", "/v1/rooms/duel-7/players", "")

	schema := ground.Schema(t, arena.Game())
	ada := ground.Enter(t, "replica", addrs["replica"], bots.Config{Schema: schema, Room: front.MainRoom, Name: "ada"})
	bob := ground.Enter(t, "replica", addrs["replica"], bots.Config{Schema: schema})
	var players web.Players
	if c.do("GET", "/v1/players", "", &players); len(players.Players) != 2 {
		t.Fatalf("%+v", players)
	}
	first := players.Players[0]
	if first.Name != "ada" || first.Dialect != "replica" || first.Carrier != "udp" || first.Room != "main" || !strings.HasPrefix(first.Address, "127.0.0.1:") || time.Since(first.Since) > time.Hour || first.Conn == 0 || first.Away {
		t.Errorf("%+v", first)
	}
	c.want(204, "", "POST", "/v1/say", `{"text":"hello all"}`)
	patient.Until(t, "both hear it", func() bool { return ada.Heard("hello all") && bob.Heard("hello all") })
	c.want(404, "no such room", "POST", "/v1/say", `{"room":"short","text":"hello"}`)
	c.want(400, "the limit is 512", "POST", "/v1/say", `{"text":"`+strings.Repeat("x", 513)+`"}`)
	c.want(204, "", "DELETE", fmt.Sprintf("/v1/rooms/main/players/%d", first.ID), `{"reason":"be kind"}`)
	if why := ada.Gone(); !strings.Contains(why, "be kind") {
		t.Errorf("the player was told %q", why)
	}
	patient.Until(t, "it has left", func() bool {
		c.do("GET", "/v1/players", "", &players)
		return len(players.Players) == 1
	})
	c.want(404, "no such player", "DELETE", fmt.Sprintf("/v1/rooms/main/players/%d", first.ID), "")

	c.want(409, "key", "POST", "/v1/tickets", `{"name":"ada"}`)
	c.want(200, `{"bans":[]}`, "GET", "/v1/bans", "")
	c.want(400, "every address", "POST", "/v1/bans", `{"address":"0.0.0.0/0"}`)
	c.want(400, "over", "POST", "/v1/bans", `{"address":"203.0.113.7","until":"2020-01-01T00:00:00Z"}`)
	c.want(404, "no such account", "POST", "/v1/bans", `{"account":"nobody"}`)
	c.want(200, `"address":"203.0.113.7"`, "POST", "/v1/bans", `{"address":"203.0.113.7"}`)
	c.want(200, `"address":"127.0.0.0/8"`, "POST", "/v1/bans", `{"address":"127.0.0.1/8","reason":"a drill","until":"2100-01-01T00:00:00Z"}`)
	if why := bob.Gone(); !strings.Contains(why, "a drill") {
		t.Errorf("the player was told %q", why)
	}
	c.want(200, `{"bans":[{"address":"127.0.0.0/8","reason":"a drill","until":"2100-01-01T00:00:00Z"},{"address":"203.0.113.7"}]}`, "GET", "/v1/bans", "")
	c.want(204, "", "DELETE", "/v1/bans", `{"address":"127.0.0.0/8"}`)
	c.want(404, "no such ban", "DELETE", "/v1/bans", `{"address":"127.0.0.0/8"}`)

	c.want(200, "path=/v1/bans", "GET", "/v1/log", "")

	if err := s.Close(); err != nil {
		t.Error(err)
	}
	c.want(503, "has ended", "GET", "/v1/rooms", "")
	c.want(503, "has ended", "POST", "/v1/rooms", `{"name":"late"}`)
	c.want(503, "has ended", "POST", "/v1/match", `{}`)
}

// Two who want to play the same are matched, and their tickets lead to one room. Its result is told when it is over.
func TestMatchesOverTheAPI(t *testing.T) {
	_, addrs, c := operated(t)
	c.want(400, "", "POST", "/v1/match", `{"players":1}`)
	answers := make(chan web.Match, 2)
	for _, name := range []string{"ada", "bob"} {
		go func() {
			var m web.Match
			if status, text := c.do("POST", "/v1/match", `{"mode":"duel","name":"`+name+`"}`, &m); status != 200 {
				t.Errorf("status %d: %s", status, text)
			}
			answers <- m
		}()
	}
	first, second := patient.Value(answers), patient.Value(answers)
	if first.Room == "" || first.Room != second.Room || first.Ticket == second.Ticket || len(first.Addresses) != 7 {
		t.Fatalf("%+v\n%+v", first, second)
	}
	schema := ground.Schema(t, arena.Game())
	for _, m := range []web.Match{first, second} {
		ticket := make([]byte, len(m.Ticket)/2)
		if _, err := fmt.Sscanf(m.Ticket, "%x", &ticket); err != nil {
			t.Fatal(err)
		}
		ground.Enter(t, "relay", addrs["relay"], bots.Config{Schema: schema, Ticket: ticket})
	}
	var players web.Players
	if c.do("GET", "/v1/rooms/"+first.Room+"/players", "", &players); len(players.Players) != 2 {
		t.Errorf("%+v", players)
	}
}

// A room that its game ends has a result, which an event tells, and which the room has afterwards.
func TestResultsOverTheAPI(t *testing.T) {
	t.Parallel() // it waits for most of its time
	game := arena.Game()
	step := game.Step
	game.Step = func(w *world.World, in []world.Input) {
		if w.Mode() == "short" && w.Tick() == 3 {
			w.End("ada wins")
		}
		step(w, in)
	}
	dir := t.TempDir()
	s, err := front.Start(game, front.Config{Replica: "127.0.0.1:0", Stamp: front.Off, Relay: front.Off, Duplex: front.Off, DataDir: dir, Log: discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c := newCaller(t, s, dir)
	next, stop := c.events()
	defer stop()
	c.want(201, "", "POST", "/v1/rooms", `{"name":"duel-7","mode":"short"}`)
	ada := ground.Enter(t, "replica", s.Addrs()[0].Addr.String(), bots.Config{Schema: ground.Schema(t, game), Room: "duel-7", Name: "ada"})
	var end web.Ending
	name, data := next()
	for name != "ended" {
		name, data = next()
	}
	if err := json.Unmarshal([]byte(data), &end); err != nil {
		t.Fatal(err)
	}
	if end.Room != "duel-7" || end.Result != "ada wins" || end.Tick < 3 || time.Since(end.Ended) > time.Hour {
		t.Errorf("%+v", end)
	}
	var room web.Room
	if status, text := c.do("GET", "/v1/rooms/duel-7", "", &room); status != 200 || room.State != web.Over || room.Result != "ada wins" || room.Ended == nil || room.Tick != end.Tick {
		t.Errorf("status %d: %s", status, text)
	}
	c.want(404, "no such room", "DELETE", "/v1/rooms/duel-7", "")
	if why := ada.Gone(); why == "" {
		t.Error("the player was told nothing")
	}
	c.want(201, "", "POST", "/v1/rooms", `{"name":"duel-7"}`)
	c.want(200, `"state":"asleep"`, "GET", "/v1/rooms/duel-7", "")
	c.want(200, `"result":"ada wins"`, "GET", "/v1/rooms/duel-7", "")
}

// With a key the API makes tickets.
func TestTicketsOverTheAPI(t *testing.T) {
	key := relay.TicketKey("a key of a test that is long enough")
	_, _, c := operated(t, func(c *front.Config) { c.TicketKey = key })
	var ticket web.Ticket
	if status, text := c.do("POST", "/v1/tickets", `{"room":"duel-7","name":"ada","ttl":300}`, &ticket); status != 200 {
		t.Fatalf("status %d: %s", status, text)
	}
	text := make([]byte, len(ticket.Ticket)/2)
	if _, err := fmt.Sscanf(ticket.Ticket, "%x", &text); err != nil {
		t.Fatal(err)
	}
	got, err := key.Check(time.Now(), "duel-7", text)
	if err != nil || got.Name != "ada" || got.Expires.Sub(ticket.Expires).Abs() > 2*time.Second || ticket.Room != "duel-7" {
		t.Errorf("%+v, %+v, %v", got, ticket, err)
	}
	c.want(400, "", "POST", "/v1/tickets", `{"room":"Duel"}`)
}

// firstEvents reads the first events of a stream.
func (c *caller) firstEvents(n int) string {
	c.t.Helper()
	events, stop := c.events()
	defer stop()
	var text strings.Builder
	for range n {
		name, data := events()
		text.WriteString(name + data)
	}
	return text.String()
}

// events opens a stream of events. next returns the next.
func (c *caller) events() (next func() (name, data string), stop func() error) {
	c.t.Helper()
	r, err := http.NewRequest("GET", c.url+"/v1/events", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	res, err := c.http.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	return func() (name, data string) {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok && lines.Scan() {
				return text, strings.TrimPrefix(lines.Text(), "data: ")
			}
		}
		c.t.Fatalf("the stream has ended: %v", lines.Err())
		return "", ""
	}, res.Body.Close
}

// A stream tells of the server each second, and of lines of its log.
func TestEventsOfAServer(t *testing.T) {
	t.Parallel() // it waits for most of its time
	_, _, c := operated(t)
	next, stop := c.events()
	defer stop()
	for range 2 {
		name, data := next()
		var s web.State
		if err := json.Unmarshal([]byte(data), &s); err != nil || name != "state" || s.Rooms != 1 || s.RoomList[0].Name != "main" {
			t.Errorf("%s %+v, %v", name, s, err)
		}
	}
	c.want(200, "", "PUT", "/v1/log", `{"level":"info"}`) // the log of this server is discarded until then
	c.want(201, "", "POST", "/v1/rooms", `{"name":"a"}`)
	for name, data := next(); name != "log" || !strings.Contains(data, "path=/v1/rooms"); name, data = next() {
	}
}

// A token that others may know stops the server before it is ready, with a sentence.
func TestATokenThatOthersKnow(t *testing.T) {
	s, _, _ := serveArena(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, web.TokenFile), []byte(strings.Repeat("ab", 32)), 0o644); err != nil {
		t.Fatal(err)
	}
	f := serveFlags{app: ours(), web: "127.0.0.1:0", data: dir}
	if _, err := f.page(s); err == nil || !strings.Contains(err.Error(), "--data: the operator's token: ") || !strings.Contains(err.Error(), "0644") {
		t.Error(err)
	}
}
