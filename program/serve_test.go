package program

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	front "parley"
	"parley/arena"
	"parley/internal/pagetest"
	"parley/protocol/realm/core"
	"parley/web"
)

// filled returns the flags of serve after the command line, the environment and a file.
func filled(t *testing.T, file string, args ...string) (*cobra.Command, error) {
	t.Helper()
	cmd := ours().newServe()
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	config := ""
	if file != "" {
		config = filepath.Join(t.TempDir(), "parley.toml")
		if err := os.WriteFile(config, []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return cmd, fillFlags(cmd, config)
}

// Flags win over the environment, and that over the file, and that over the default.
func TestWhereAValueComesFrom(t *testing.T) {
	for _, tt := range []struct {
		name, file, env string
		args            []string
		want            string
	}{
		{"nothing is the default", "", "", nil, "20"},
		{"the file", "tick-rate = 30", "", nil, "30"},
		{"the environment wins over the file", "tick-rate = 30", "40", nil, "40"},
		{"a flag wins over both", "tick-rate = 30", "40", []string{"--tick-rate", "50"}, "50"},
		{"a flag that is the default wins too", "tick-rate = 30", "40", []string{"--tick-rate", "20"}, "20"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.env != "" {
				t.Setenv("PARLEY_TICK_RATE", tt.env)
			}
			cmd, err := filled(t, tt.file, tt.args...)
			if err != nil {
				t.Fatal(err)
			}
			if got := cmd.Flags().Lookup("tick-rate").Value.String(); got != tt.want {
				t.Errorf("it is %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAFileMayHaveEveryFlag(t *testing.T) {
	cmd, err := filled(t, `
replica = "127.0.0.1:1"
realm = "off"
realm-plain = true
sight = 64.5
seed = 12
max-players = 7
hold = "1m30s"
keep = "tick"
relay-lobby = "connector"
`)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"replica": "127.0.0.1:1", "realm": "off", "realm-plain": "true", "sight": "64.5", "seed": "12", "max-players": "7", "hold": "1m30s", "keep": "tick", "relay-lobby": "connector",
	} {
		if got := cmd.Flags().Lookup(name).Value.String(); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestTheFileMayBeNamedByTheEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(file, []byte("seed = 5"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PARLEY_CONFIG", file)
	cmd, err := filled(t, "")
	if err != nil || cmd.Flags().Lookup("seed").Value.String() != "5" {
		t.Errorf("the seed is %s, %v", cmd.Flags().Lookup("seed").Value, err)
	}
}

func TestBadValuesAreNamed(t *testing.T) {
	for _, tt := range []struct{ name, file, env, want string }{
		{"a key that is no flag", "ticks = 1", "", `"ticks", which is no flag of serve`},
		{"a file that names itself", `config = "x"`, "", `"config"`},
		{"a table", "[replica]\naddr = 1\ntick-rate = 9", "", `replica takes a text in "quotes", not a table`},
		{"a table of another name", "[serve]\ntick-rate = 9", "", `"serve", which is no flag`},
		{"a text for a number", `tick-rate = "fast"`, "", `tick-rate takes a whole number, not the text "fast"`},
		{"a number in quotes", `tick-rate = "3"`, "", `tick-rate takes a whole number, not the text "3"; write tick-rate = 3`},
		{"a number in quotes that is not whole", `tick-rate = "3.5"`, "", `tick-rate takes a whole number, not the text "3.5"`},
		{"a switch in quotes", `realm-plain = "true"`, "", `realm-plain takes true or false, not the text "true"; write realm-plain = true`},
		{"a number in quotes for the seed", `seed = "7"`, "", `write seed = 7`},
		{"a number in quotes for the sight", `sight = "9.5"`, "", `write sight = 9.5`},
		{"a number for a text", `data = 5`, "", `data takes a text in "quotes", not 5; write data = "5"`},
		{"a broken number for a whole one", `seed = 5.5`, "", "seed takes a whole number of at least 0, not 5.5"},
		{"a text for a switch", `realm-plain = "yes"`, "", `realm-plain takes true or false, not the text "yes"`},
		{"a number for a time", `hold = 30`, "", `hold takes a time such as 30s or 24h, not 30; write hold = "30s" for seconds`},
		{"no time", `hold = "long"`, "", `.toml: hold takes a time such as 30s`},
		{"a list", `sight = [1, 2]`, "", "sight takes a number, not a list"},
		{"a number that is too small", `seed = -1`, "", `.toml: seed takes a whole number of at least 0, not "-1"`},
		{"a file that is no TOML", "tick-rate 30", "", ".toml: toml: line 1"},
		{"a number that is too large", "tick-rate = 9223372036854775807000", "", ".toml: toml: line 1"},
		{"an environment of the wrong type", "", "fast", `PARLEY_TICK_RATE takes a whole number, not "fast"`},
		{"an environment out of range", "", "99999999999999999999", "PARLEY_TICK_RATE: 99999999999999999999 is out of range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.env != "" {
				t.Setenv("PARLEY_TICK_RATE", tt.env)
			}
			if _, err := filled(t, tt.file); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

// A misspelt variable is named in a warning, and the server starts.
func TestStrayVariablesAreNamed(t *testing.T) {
	env := []string{"PARLEY_TICKRATE=30", "PARLEY_TICK_RATE=30", "PARLEY_SEED=1", "HOME=x", "PARLEY=1", "PARLEY_A=", "NOT_PARLEY_B=1"}
	if got := strayVariables(ours().newServe(), env); !slices.Equal(got, []string{"PARLEY_A", "PARLEY_TICKRATE"}) {
		t.Errorf("the stray ones are %q", got)
	}
	t.Setenv("PARLEY_TICKRATE", "30")
	f := serveFlags{app: ours(), logLevel: "debug", relayLobby: "nosuch"} // it ends before it listens
	var out bytes.Buffer
	cmd := ours().newServe()
	cmd.SetErr(&out)
	cmd.SetContext(t.Context())
	if err := f.run(cmd); err == nil {
		t.Fatal("a server without flags has started")
	}
	if !strings.Contains(out.String(), "level=WARN") || !strings.Contains(out.String(), "variable=PARLEY_TICKRATE") {
		t.Errorf("the log is %q", out.String())
	}
}

func TestServerConfig(t *testing.T) {
	base := serveFlags{
		app:        ours(),
		relayLobby: "open", realmProfile: "plain", keep: "off", mainAccounts: "on", data: t.TempDir(), tickRate: 20, maxPlayers: 10, maxRooms: 5, perAddress: 256,
		replica: front.Off, stamp: front.Off, relay: front.Off, duplex: front.Off, realm: ":1", realmTime: ":2", web: front.Off, play: playFlags{addr: front.Off},
	}
	_, c, done, err := base.serverConfig(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	done(false)
	if c.Seed == 0 || c.RelayConnector != nil || c.RealmFirstType != 0 || c.Replica != front.Off || c.Realm != ":1" {
		t.Errorf("the config is %+v", c)
	}
	miko := base
	miko.realmProfile, miko.relayLobby, miko.seed = "miko", "connector", 3
	if _, c, done, err = miko.serverConfig(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	done(false)
	// "player speed f32, ball cooldown u16, ball speed f32, ball lifespan u16"
	types := []core.Type{core.TypeF32, core.TypeU16, core.TypeF32, core.TypeU16}
	for i, f := range c.RealmConfig {
		if f.Type != types[i] {
			t.Errorf("%s has the type %v", f.Name, f.Type)
		}
	}
	if len(c.RealmConfig) != 4 || len(c.RealmExtension) != 4 || c.RealmFirstType != 1 || c.RelayConnector == nil || c.Seed != 3 {
		t.Errorf("the config is %+v", c)
	}
	if got := c.RealmExtension[0].Float(); got != float64(float32(arena.PlayerSpeed)*20/50) || c.TickRate != 50 || c.RealmSight != 8 || c.RealmLoginWithin != 10*time.Minute {
		t.Errorf("the player's speed is %v in %+v", got, c)
	}
	for name, change := range map[string]func(*serveFlags){
		"--tick-rate":        func(f *serveFlags) { f.tickRate = 1001 },
		"--max-players":      func(f *serveFlags) { f.maxPlayers = 0 },
		"--max-players must": func(f *serveFlags) { f.maxPlayers = 5000 },
		"--relay-lobby":      func(f *serveFlags) { f.relayLobby = "" },
		"--realm-profile":    func(f *serveFlags) { f.realmProfile = "" },
		"--record":           func(f *serveFlags) { f.record = filepath.Join(t.TempDir(), "no", "file") },
		"--postgres":         func(f *serveFlags) { f.postgres = "nonsense" },
		"--web is empty":     func(f *serveFlags) { f.web = "" },
		"--web and --play":   func(f *serveFlags) { f.web, f.play.addr = ":80", ":80" },
		"--play is empty":    func(f *serveFlags) { f.play.addr = "" },
		"--play-origins":     func(f *serveFlags) { f.play.origins = "game.example" },
		"--realm is empty":   func(f *serveFlags) { f.realm = "" },
		"dialects are off":   func(f *serveFlags) { f.realm, f.web = front.Off, ":80" },
		"--hold":             func(f *serveFlags) { f.hold = -1 },
		"--hold must":        func(f *serveFlags) { f.hold = 19 * time.Hour },
		"--keep must be":     func(f *serveFlags) { f.keep = "minute" },
		"--keep-history":     func(f *serveFlags) { f.keepHistory = true },
		"--main-accounts":    func(f *serveFlags) { f.mainAccounts = "no" },
		"--data":             func(f *serveFlags) { f.data = os.DevNull },
		"--max-rooms":        func(f *serveFlags) { f.maxRooms = 0 },
		"--record-over":      func(f *serveFlags) { f.recordOver = true },
		"--per-address":      func(f *serveFlags) { f.perAddress = 0 },
		"--sight":            func(f *serveFlags) { f.sight = math.NaN() },
		"--ticket-key-file":  func(f *serveFlags) { f.ticketKey = filepath.Join(t.TempDir(), "none") },
	} {
		f := base
		change(&f)
		_, _, done, err := f.serverConfig(t.Context(), nil)
		done(false)
		if failed := (failure{}); errors.As(err, &failed) {
			t.Errorf("%s: the user's mistake is taken for a failure: %v", name, err)
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestTheReadyFileIsWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ready.json")
	f := serveFlags{app: ours(), readyFile: file}
	addrs := []front.Addr{{Name: "replica", Addr: netip.MustParseAddrPort("127.0.0.1:7000")}, {Name: "web", Addr: netip.MustParseAddrPort("[::1]:80")}}
	if err := f.ready(addrs); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(text, &got); err != nil || got["replica"] != "127.0.0.1:7000" || got["web"] != "[::1]:80" || len(got) != 2 {
		t.Errorf("it is %s, %v", text, err)
	}
	if left, _ := filepath.Glob(file + "?*"); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
	f.unready()
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is still there when the server is gone")
	}
	f.unready()
	table := ours().startTable(addrs, false, 9, []place{{"rooms", "/var/data/rooms"}, {"accounts", "/var/data"}})
	for _, want := range []string{"seed 9", "replica      127.0.0.1:7000", "http://[::1]:80/", "accounts     /var/data", "rooms        /var/data/rooms"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is missing from\n%s", want, table)
		}
	}
}

// An error says what to do, once.
func TestAdvice(t *testing.T) {
	listen := func(why syscall.Errno) error {
		return &net.OpError{Op: "listen", Net: "tcp", Err: os.NewSyscallError("bind", why)}
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{listen(syscall.EADDRINUSE), "choose another port"},
		{fmt.Errorf("udp: %w; choose another port or stop that program", syscall.EADDRINUSE), "choose another port or stop"},
		{listen(syscall.EACCES), "choose a port above 1023"},
		{fmt.Errorf("udp: %w; choose one above 1023", syscall.EACCES), "choose one above 1023"},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, "choose a --data folder that you may write to"},
		{errors.New("it rains"), ""},
	} {
		got := advise(tt.err)
		if !errors.Is(got, tt.err) || !strings.Contains(got.Error(), tt.want) || strings.Count(got.Error(), "choose") != min(len(tt.want), 1) {
			t.Errorf("%q", got)
		}
	}
}

// The table says where rooms and accounts are only if there are any there.
func TestWhereThingsAre(t *testing.T) {
	for _, tt := range []struct {
		f    serveFlags
		want string
	}{
		{serveFlags{app: ours(), web: front.Off, realm: ":1", keep: "off", data: "/var/data"}, "[{accounts /var/data}]"},
		{serveFlags{app: ours(), web: front.Off, realm: ":1", keep: "off", data: "/var/data", postgres: "postgres://me:secret@db/x"}, "[{accounts PostgreSQL}]"},
		{serveFlags{app: ours(), web: front.Off, realm: front.Off, keep: "off", data: "/var/data"}, "[]"},
		{serveFlags{app: ours(), web: front.Off, realm: ":1", keep: "tick", data: "/var/data"}, "[{rooms /var/data/rooms} {accounts /var/data}]"},
		{serveFlags{app: ours(), web: ":1", realm: front.Off, keep: "off", data: "/var/data"}, "[{API's token /var/data/operator.token}]"},
	} {
		if got := fmt.Sprint(tt.f.places()); got != tt.want {
			t.Errorf("%+v: %q", tt.f, got)
		}
	}
	if table := ours().startTable(nil, true, 9, nil); strings.Contains(table, "accounts") || strings.Contains(table, "rooms") {
		t.Errorf("there are none:\n%s", table)
	}
}

func TestHelpOfTheGame(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"serve --help", []string{"Examples:", "parley serve --record game.rec && parley replay game.rec", "PARLEY_TICK_RATE", "--realm-profile", ":8082"}},
		{"join --help", []string{"Examples:", "echo map | parley join relay", "--password-stdin", "walk 45 1.5"}},
		{"bots --help", []string{"Examples:", "parley bots -n 100", "--mix", "--json"}},
	} {
		got := parley("", tt.line)
		if got.status != exitOK || got.err != "" {
			t.Errorf("%s: status %d, standard error %q", tt.line, got.status, got.err)
		}
		for _, want := range tt.want {
			if !strings.Contains(got.out, want) {
				t.Errorf("%s: %q is missing from\n%s", tt.line, want, got.out)
			}
		}
	}
}

// The counters of the page and /metrics tell of every part that counts: the world, each dialect, and accounts.
func TestThePageTellsOfAllParts(t *testing.T) {
	s, _, _ := serveArena(t)
	f := serveFlags{app: ours(), web: "127.0.0.1:0", data: t.TempDir()}
	page, err := f.page(s)
	if err != nil {
		t.Fatal(err)
	}
	defer page.Close(t.Context())
	token, err := web.OperatorToken(f.data)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(path string) string {
		r, _ := http.NewRequest("GET", "http://"+page.Addr().String()+path, nil)
		r.Header.Set("Authorization", "Bearer "+token)
		res, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return string(text)
	}
	metrics, counters := get("/metrics"), get("/v1/counters")
	for _, series := range []string{
		"parley_tick_seconds_count", `parley_seats{dialect="relay"}`, `parley_connections{dialect="replica",state="open"}`, `parley_datagrams_total{dialect="stamp",direction="in",fate="received"}`,
		`parley_loop_events_total{dialect="relay",event="turn"}`, `parley_connections_total{dialect="duplex",fate="opened"}`, `parley_stranger_packets_total{dialect="realm",direction="in",fate="time_burst"}`,
		"parley_account_hashes_total", "parley_account_sessions", `parley_world_bytes_total{dialect="realm",field="health",kind="player"}`,
	} {
		if !strings.Contains(metrics, "\n"+series+" ") {
			t.Errorf("%s is not among the metrics", series)
		}
	}
	for _, part := range []string{"game", "replica", "stamp", "relay", "duplex", "realm"} {
		if !strings.Contains(counters, `"part":"`+part+`"`) {
			t.Errorf("%s is not among the counters", part)
		}
	}
}

// docs/serve.md has every flag with its default, and a file that is taken.
func TestServePage(t *testing.T) {
	name := filepath.Join("..", "docs", "serve.md")
	page := map[string]string{}
	for _, row := range pagetest.Tables(t, name)["Settings"] {
		page[strings.Trim(row["flag"], "`-")] = strings.Trim(row["default"], "`")
	}
	ours().newServe().Flags().VisitAll(func(f *pflag.Flag) {
		if value, there := page[f.Name]; !there || value != f.DefValue {
			t.Errorf("--%s is %q by default; on the page %q, %v", f.Name, f.DefValue, value, there)
		}
		delete(page, f.Name)
	})
	if len(page) > 0 {
		t.Errorf("there are no flags %v", page)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, file, _ := strings.Cut(string(text), "```toml\n")
	file, _, _ = strings.Cut(file, "```")
	cmd, err := filled(t, file)
	if err != nil || cmd.Flags().Lookup("sight").Value.String() != "96.5" {
		t.Errorf("the file of the page: %v", err)
	}
}
