package program

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	front "parley"
	"parley/play/bots"
	"parley/protocol/relay"
)

// botsInTime runs bots, for longer where a busy machine gave them too little time to get in.
func botsInTime(args string) (got result) {
	for long := 2; long < 100; long *= 2 {
		if got = parley("", fmt.Sprintf("bots --for %ds %s", long, args)); !tooBusy(got.err) {
			break
		}
	}
	return got
}

func TestBotsReportInJSON(t *testing.T) {
	t.Parallel() // it waits for most of its time
	_, _, ready := serveArena(t)
	got := botsInTime("--json --realm-plain -n 5 --ready-file " + ready)
	var list []bots.Result
	if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list) != 5 {
		t.Fatalf("status %d, %v: %s%s", got.status, err, got.out, got.err)
	}
	for _, r := range list {
		if r.Bots != 1 || r.Connected != 1 || r.Errors != 0 || r.Updates == 0 {
			t.Errorf("%+v", r)
		}
	}
	if got.status != exitOK || got.err != "" {
		t.Errorf("status %d: %s", got.status, got.err)
	}
}

func TestBotsReportInATable(t *testing.T) {
	t.Parallel() // it waits for most of its time
	_, _, ready := serveArena(t)
	got := botsInTime("--mix relay=2 --ready-file " + ready)
	if got.status != exitOK || !strings.Contains(got.out, "p99") || !strings.Contains(got.out, "relay") || strings.Contains(got.out, "stamp") {
		t.Errorf("status %d: %s%s", got.status, got.out, got.err)
	}
}

// A table of many bots fits a terminal, and a spectator's latency is not 0.
func TestTheTableFitsATerminal(t *testing.T) {
	var out strings.Builder
	many := bots.Result{
		Dialect: "replica", Bots: 2000, Connected: 2000, Updates: 8_888_888, Steered: 99_999, Seen: 99_999, Said: 8888, Heard: 8888,
		P50: 131_234 * time.Microsecond, P99: 1_262_999 * time.Microsecond,
	}
	var f botsFlags
	if err := f.print(&out, []bots.Result{many, {Dialect: "stamp", Bots: 1, Connected: 1, Errors: 1, Error: "it is off"}}); err == nil || err.Error() != "1 of 1 bots of stamp had errors, such as: it is off" {
		t.Error(err)
	}
	for line := range strings.Lines(out.String()) {
		if len(line)-1 > helpColumns {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
	for _, want := range []string{" 131.2ms 1.26s ", " - "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in\n%s", want, &out)
		}
	}
}

// The second table is there if somebody was away.
func TestTheTableOfAbsences(t *testing.T) {
	var out strings.Builder
	var f botsFlags
	list := []bots.Result{{Dialect: "relay", Bots: 3, Connected: 3, Away: 2001, Same: 1000, Anew: 1000, Refused: 1, AwayP50: 2 * time.Second, AwayMax: 3 * time.Minute}}
	if err := f.print(&out, list); err != nil {
		t.Error(err)
	}
	if want := "relay 2001 1000 1000       1  2s 3m0s"; !strings.Contains(out.String(), want) {
		t.Errorf("there is no %q in\n%s", want, &out)
	}
	out.Reset()
	list[0].Away = 0
	if f.print(&out, list); strings.Contains(out.String(), "away") {
		t.Errorf("nobody was away:\n%s", &out)
	}
}

// The bots of a server that is starting wait for its file.
func TestBotsWaitForTheServer(t *testing.T) {
	t.Parallel() // it waits for most of its time
	_, _, ready := serveArena(t)
	text, err := os.ReadFile(ready)
	if err != nil {
		t.Fatal(err)
	}
	late := filepath.Join(t.TempDir(), "late.json")
	time.AfterFunc(200*time.Millisecond, func() { os.WriteFile(late+".new", text, 0o644); os.Rename(late+".new", late) })
	got := botsInTime("--mix stamp=1 --ready-file " + late)
	if got.status != exitOK {
		t.Errorf("status %d: %s", got.status, got.err)
	}
}

func TestWhatBotsRefuse(t *testing.T) {
	defer func(d time.Duration) { readyPatience = d }(readyPatience)
	readyPatience = 100 * time.Millisecond
	dir := t.TempDir()
	bad, none, some := filepath.Join(dir, "bad"), filepath.Join(dir, "empty"), filepath.Join(dir, "some")
	for name, text := range map[string]string{bad: "nonsense", none: "{}", some: `{"replica": "127.0.0.1:1"}`} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ line, want string }{
		{"bots -n 0", "--count must be at least 1"},
		{"bots --mix replica", "write DIALECT=COUNT"},
		{"bots --mix morse=3", "write DIALECT=COUNT"},
		{"bots --mix replica=-1", "write DIALECT=COUNT"},
		{"bots --ready-file " + filepath.Join(dir, "none"), "start the server with the same flag first"},
		{"bots --mix replica=0,realm=0", "asks for no bots"},
		{"bots --for 0s", "--for must be a time"},
		{"bots --for -1s", "--for must be a time"},
		{"bots --ready-file " + none, "names no dialect"},
		{"bots --mix stamp=1 --ready-file " + some, "the dialect is off by"},
		{"bots --ready-file " + bad, "was not written by parley serve"},
		{"bots now", "takes no arguments"},
		{"bots --room A", `--room "A" is no name of a room`},
		{"bots --ticket xyz", "--ticket is not hex; give it as \"parley ticket make\" prints it"},
		{"bots --ticket 54 --name ada", "leave out --room and --name"},
		{"bots --ticket 54 --room duel", "leave out --room and --name"},
		{"bots --ticket 54 --ticket-key-file x", "leave out --ticket, or the key"},
		{"bots --ticket 54,55 -n 3", "--ticket has 2 of the tickets that 3 bots of replica, relay and duplex need"},
		{"bots --ticket 54 --mix realm=1", "--ticket has 1 of the tickets that 0 bots"},
	} {
		got := parley("", tt.line)
		if got.status != exitUsage || !strings.Contains(got.err, tt.want) {
			t.Errorf("%s: status %d, %q", tt.line, got.status, got.err)
		}
	}
}

func TestSharesOfBots(t *testing.T) {
	f := botsFlags{count: 12}
	addrs := map[string]string{"replica": "a", "stamp": "b", "relay": "c", "duplex": "d", "realm": "e"}
	got, total, err := f.shares(addrs)
	if err != nil || got["replica"] != 3 || got["stamp"] != 3 || got["realm"] != 2 || total != 12 {
		t.Errorf("%v, %v", got, err)
	}
	f.mix = "replica=2, duplex=3,replica=1"
	if got, total, err = f.shares(addrs); err != nil || got["replica"] != 3 || got["duplex"] != 3 || len(got) != 2 || total != 6 {
		t.Errorf("%v, %v", got, err)
	}
	f.mix = ""
	delete(addrs, "stamp") // it is off
	if got, total, err = f.shares(addrs); err != nil || got["replica"] != 3 || got["realm"] != 3 || got["stamp"] != 0 || total != 12 {
		t.Errorf("%v, %v", got, err)
	}
	for addr, want := range map[string]string{"0.0.0.0:1": "127.0.0.1:1", "[::]:2": "127.0.0.1:2", "192.0.2.1:3": "192.0.2.1:3", "host:4": "host:4"} {
		if got := reachable(addr); got != want {
			t.Errorf("%s is reached at %s, want %s", addr, got, want)
		}
	}
}

// names runs bots, again where a busy machine gave them too little time to get in, and returns whom the server has seen.
func (w *watched) names(t *testing.T, args func() string) []string {
	t.Helper()
	seen, done := map[string]bool{}, make(chan result, 1)
	go func() {
		var got result
		for long := 2; long < 100; long *= 2 {
			if got = parley("", fmt.Sprintf("bots --for %ds --ready-file %s %s", long, w.ready, args())); !tooBusy(got.err) {
				break
			}
		}
		done <- got
	}()
	for {
		list, err := w.server.Players()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			seen[p.Room+"/"+p.Name] = true
		}
		select {
		case got := <-done:
			if got.status != exitOK {
				t.Errorf("%+v", got)
			}
			return slices.Sorted(maps.Keys(seen))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

type watched struct {
	server *front.Server
	ready  string
}

func TestBotsWithNames(t *testing.T) {
	t.Parallel()
	s, _, ready := serveArena(t)
	w := watched{s, ready}
	got := w.names(t, func() string { return "--mix replica=2,realm=1 --realm-plain --name ada" })
	if want := []string{"main/ada-0", "main/ada-1"}; !slices.Contains(got, want[0]) || !slices.Contains(got, want[1]) {
		t.Errorf("there were %q, want %q among them", got, want)
	}
}

func TestBotsWithTickets(t *testing.T) {
	t.Parallel()
	key := relay.TicketKey("a key of at least sixteen bytes")
	s, _, ready := serveArena(t, func(c *front.Config) { c.TicketKey, c.DataDir = key, t.TempDir() })
	w := watched{s, ready}
	got := w.names(t, func() string { // a ticket is used up by one attempt
		line := ""
		for _, name := range []string{"ada", "ben"} {
			ticket, err := relay.NewTicket(key, "", name, time.Hour)
			if err != nil {
				t.Error(err)
			}
			line += " --ticket " + hex.EncodeToString(ticket)
		}
		return line
	})
	if want := []string{"main/ada", "main/ben"}; !slices.Equal(got, want) {
		t.Errorf("there were %q, want %q", got, want)
	}
}
