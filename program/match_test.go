package program

import (
	"context"
	"io"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	front "parley"
	"parley/arena"
	"parley/internal/carry/wt"
	"parley/internal/patient"
	"parley/web"
)

// servePlay serves the arena and the players' part, and returns the URL of that.
func servePlay(t *testing.T, change ...func(*front.Config)) (*front.Server, string) {
	t.Helper()
	var config front.Config
	s, _, _ := serveArena(t, append(change, func(c *front.Config) { config = *c })...)
	f := playFlags{addr: "127.0.0.1:0", rooms: true, at: new(atomic.Pointer[webAddr]), wt: new(atomic.Pointer[wt.Server])}
	page, err := f.listen(s, arena.Game(), config, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closePages(page)
		f.closeWT()
	})
	return s, "http://" + page.Addr().String()
}

// Two players in two terminals who want to play the same find each other.
func TestTwoJoinsFindEachOther(t *testing.T) {
	s, url := servePlay(t)
	// joinWithin waits until one is in, which is when the other has come too.
	start := func(args ...string) *terminalUser {
		r, w := io.Pipe()
		u := &terminalUser{T: t, in: w, out: newScreen(), done: make(chan int, 1)}
		go func() {
			u.done <- ours(builtIn()...).run(append([]string{"join"}, args...), streams{In: r, Out: u.out, Err: u.out})
		}()
		return u
	}
	ann := start("--match", "duel", "--name", "ann", "--play", url)
	patient.Until(t, "ann waits", func() bool { return s.Stats().Matches.Waiting == 1 })
	bob := start("duplex", "--match", "duel", "--name", "bob", "--play", url, "--players", "2")
	room := regexp.MustCompile(`found a match: room (match-[a-z0-9]+)\n`)
	seen := map[string]bool{}
	for _, u := range []*terminalUser{ann, bob} {
		patient.Until(t, "both have joined", func() bool { u.seen += u.out.take(); return strings.Contains(u.seen, "joined ") })
		found := room.FindStringSubmatch(u.seen)
		if found == nil {
			t.Fatalf("no match is found: %s", u.seen)
		}
		seen[found[1]] = true
	}
	list, err := s.Players()
	if err != nil || len(seen) != 1 || len(list) != 2 || !seen[list[0].Room] || !seen[list[1].Room] {
		t.Fatalf("the rooms are %v; the players are %+v, %v", seen, list, err)
	}
	bob.types("say hello")
	ann.waits("bob: hello", "")
	for _, u := range []*terminalUser{ann, bob} {
		u.types("quit")
		defer u.in.Close()
		if status := patient.Value(u.done); status != exitOK {
			t.Errorf("it ends with %d: %s", status, u.out.take())
		}
	}
}

func TestAJoinWithoutAMatch(t *testing.T) {
	_, url := servePlay(t)
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"no mode, no dialect", nil, exitUsage, "takes a dialect"},
		{"realm takes no ticket", []string{"realm", "--match", "duel", "--name", "ann"}, exitUsage, "realm takes no ticket, which a match needs"},
		{"a room too", []string{"--match", "duel", "--room", "main"}, exitUsage, "leave out --room and --ticket"},
		{"players without a match", []string{"replica", "--players", "2"}, exitUsage, "name the mode to play with --match"},
		{"a bad address", []string{"--match", "duel", "--play", "nowhere"}, exitUsage, `--play "nowhere" is not an address of a server`},
		{"nobody there", []string{"--match", "duel", "--play", "http://127.0.0.1:1"}, exitFailed, "no server answers at http://127.0.0.1:1 ("},
		{"a match of one", []string{"--match", "duel", "--players", "1", "--play", url}, exitUsage, "a match has 2 to 1000 players, not 1"},
		{"a name of the server's", []string{"--match", "duel", "--name", "server", "--play", url}, exitUsage, "looks like the name of the server itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := runWith(builtIn(), strings.NewReader(""), append([]string{"join"}, tt.args...))
			if got.status != tt.status || !strings.Contains(got.err, tt.want) || strings.Count(got.err, "\n") != 1 {
				t.Errorf("status %d, %q", got.status, got.err)
			}
		})
	}
}

// The players' part tells what there is, and opens rooms, of a server as it is.
func TestTheLobbyOfAServer(t *testing.T) {
	s, url := servePlay(t)
	r, err := ours().newRemote("--play", url)
	if err != nil {
		t.Fatal(err)
	}
	var about struct {
		Game, Fingerprint string
		TickRate          int `json:"tick_rate"`
		Dialects          map[string]struct{ Carrier, Address string }
	}
	schema, _ := arena.Game().Schema()
	if err := r.call(t.Context(), "GET", "/play/server", nil, &about); err != nil || about.Game != "arena" || about.Dialects["realm"].Carrier != "tcp" || about.Dialects["replica"].Carrier != "udp" || schema == nil {
		t.Errorf("%+v, %v", about, err)
	}
	var room struct {
		Name       string
		MaxPlayers int `json:"max_players"`
	}
	if err := r.call(t.Context(), "POST", "/play/rooms", map[string]any{"mode": "race", "max_players": 5}, &room); err != nil || room.MaxPlayers != 5 {
		t.Errorf("%+v, %v", room, err)
	}
	rooms, err := s.Rooms()
	if err != nil || len(rooms) != 2 || rooms[1].Name != room.Name || rooms[1].Mode != "race" || rooms[1].Closed {
		t.Errorf("the rooms are %+v, %v", rooms, err)
	}
	for want, wish := range map[string]map[string]any{`"max_players" is 5000`: {"max_players": 5000}, `"mode" has 256 bytes`: {"mode": strings.Repeat("x", 256)}} {
		if err := r.call(t.Context(), "POST", "/play/rooms", wish, &room); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	s.Close()
	if err := r.call(t.Context(), "POST", "/play/match", map[string]any{}, &room); err == nil || !strings.Contains(err.Error(), "the game has ended") {
		t.Errorf("a match of a server that has ended: %v", err)
	}
}

// Where rooms need tickets, none is open, and players find matches all the same.
func TestTheLobbyWithATicketKey(t *testing.T) {
	s, url := servePlay(t, func(c *front.Config) {
		c.TicketKey, c.DataDir = []byte("a key of at least sixteen bytes"), t.TempDir()
	})
	r, err := ours().newRemote("--play", url)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Rooms []any }
	if err := r.call(t.Context(), "GET", "/play/rooms", nil, &list); err != nil || list.Rooms == nil || len(list.Rooms) != 0 {
		t.Errorf("the rooms are %v, %v", list.Rooms, err)
	}
	if err := r.call(t.Context(), "POST", "/play/rooms", nil, &list); err == nil || !strings.Contains(err.Error(), "need a ticket") {
		t.Errorf("a room is opened: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go s.Match(ctx, front.MatchRequest{Mode: "duel"})
	if found, err := r.match(ctx, "/play/match", wishOf("duel")); err != nil || found.Room == "" || found.Ticket == "" {
		t.Errorf("%+v, %v", found, err)
	}
}

func wishOf(mode string) web.Wish { return web.Wish{Mode: mode, Players: 2} }
