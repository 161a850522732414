package parley_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley"
	"parley/account"
	"parley/account/sqlite"
	"parley/arena"
	"parley/play/bots"
	realmcore "parley/protocol/realm/core"
	"parley/protocol/relay"
	"parley/protocol/relay/connector"
	"parley/test/field"
	"parley/world"
)

// startErr returns the error of a server that is not to start.
func startErr(g parley.Game, c parley.Config) error {
	s, err := parley.Start(g, c)
	if err == nil {
		s.Close()
	}
	return err
}

// What would make a server that nobody wants is an error that names the field.
func TestBadConfigsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(*parley.Config)
	}{
		{"Config.TickRate must be 1 to 1000, or 0 for 20, not -1", func(c *parley.Config) { c.TickRate = -1 }},
		{"Config.TickRate", func(c *parley.Config) { c.TickRate = 1001 }},
		{"Config.MaxPlayers", func(c *parley.Config) { c.MaxPlayers = -1 }},
		{"Config.MaxPlayers", func(c *parley.Config) { c.MaxPlayers = 5000 }},
		{"Config.MaxRooms", func(c *parley.Config) { c.MaxRooms = -1 }},
		{"Config.Mode of 256 bytes", func(c *parley.Config) { c.Mode = strings.Repeat("x", 256) }},
		{"Config.TicketKey has 5 bytes", func(c *parley.Config) { c.TicketKey = relay.TicketKey("short") }},
		{"Config.Sight", func(c *parley.Config) { c.Sight = math.NaN() }},
		{"Config.RealmExtension has 0 values", func(c *parley.Config) { c.RealmConfig = []realmcore.Field{{Name: "x", Type: realmcore.TypeU8}} }},
		{"kind player has the number 1", func(c *parley.Config) {
			c.Realm, c.RealmTime, c.RealmPlain, c.RealmFirstType = field.Any, parley.Off, true, 2
		}},
		{"Config.Realm is \"127.0.0.1:0\", and Config.Accounts is nil: set Accounts to sqlite.OpenIn", func(c *parley.Config) { c.Realm, c.Accounts = field.Any, nil }},
		{"parley: accounts: no room", func(c *parley.Config) {
			c.Realm, c.Accounts = field.Any, func(string) (account.Store, error) { return nil, errors.New("no room") }
		}},
		{"replica: udp: listen on nowhere", func(c *parley.Config) { c.Replica = "nowhere" }},
	} {
		c := field.Replica()
		tt.change(&c)
		if err := startErr(arena.Game(), c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("the error is %v, want %q", err, tt.want)
		}
	}
}

// With a ticket key nobody is a guest, stamp is off unless it is asked for, and a ticket is used once whatever restarts.
func TestTicketsAreUsedOnceAcrossRestarts(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Replica()
	c.TicketKey, c.DataDir, c.Stamp = relay.TicketKey("sixteen bytes and more"), filepath.Join(t.TempDir(), "data"), ""
	ticket, err := relay.NewTicket(c.TicketKey, "main", "ann", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for run, want := range []string{"", "ticket was used", "ticket was used"} {
		s := field.Serve(t, arena.Game(), c)
		if len(s.At) != 1 {
			t.Errorf("it listens at %v: without a ticket nobody may watch", s.At)
		}
		v, err := field.Visit(t.Context(), "replica", s.At["replica"], bots.Config{Schema: s.Schema, Ticket: ticket})
		why, name := fmt.Sprint(err), ""
		if err == nil {
			if v.Wait(field.Patience) {
				name = playersOf(t, s)[0].Name
			}
			why = v.Ended()
			v.Leave()
		}
		if want == "" && name != "ann" || !strings.Contains(why, want) {
			t.Errorf("run %d: it is %q, told %v", run, name, why)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(c.DataDir, "spent-tickets"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := startErr(arena.Game(), c); err == nil || !strings.Contains(err.Error(), "spent-tickets") {
		t.Errorf("with a damaged file: %v", err)
	}
}

type (
	Chat    struct{ Loud bool }
	Steer   struct{ Angle float32 }
	Terrain struct{ X, Y int16 }
)

// Replica's clients act by a message of the action's name, which must not be one of the others'.
func TestActionsCannotBeNamedAsMessages(t *testing.T) {
	for _, action := range []any{Chat{}, Steer{}, Terrain{}} {
		g := arena.Game()
		g.Actions = world.Actions(action)
		if err := startErr(g, field.Replica()); err == nil || !strings.Contains(err.Error(), "replica has a message of that name: rename the action") {
			t.Errorf("%T: the error is %v", action, err)
		}
		c := field.Replica()
		c.Replica, c.Stamp = parley.Off, field.Any // over the others actions have numbers
		if err := startErr(g, c); err != nil {
			t.Errorf("%T: %v", action, err)
		}
	}
}

// fullDisk takes so many bytes.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) > d.left {
		return 0, errors.New("no space left on device")
	}
	d.left -= len(p)
	return len(p), nil
}

// A recording that cannot go on is said once, and the game goes on.
func TestAFullDiskEndsTheRecordingAndNotTheGame(t *testing.T) {
	var log bytes.Buffer
	c := field.Replica()
	c.TickRate, c.Record, c.Log = 1000, &fullDisk{1000}, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	s := field.Serve(t, arena.Game(), c)
	s.Audience(t)
	s.Within(t, "the disk is full", func() bool { return s.WorldStats().Ticks > 100 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "no space left on device") {
		t.Errorf("the log is %q", text)
	}
}

// A server that cannot start closes what it had opened: TestMain looks for goroutines that are left.
func TestAPortInUseLeavesNothingBehind(t *testing.T) {
	tcp, err := net.Listen("tcp", field.Any)
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", field.Any)
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	for name, change := range map[string]func(*parley.Config){
		"replica":    func(c *parley.Config) { c.Replica = udp.LocalAddr().String() },
		"stamp":      func(c *parley.Config) { c.Stamp = udp.LocalAddr().String() },
		"relay":      func(c *parley.Config) { c.Relay = udp.LocalAddr().String() },
		"connector":  func(c *parley.Config) { c.Relay, c.RelayConnector = udp.LocalAddr().String(), connector.Listen },
		"duplex":     func(c *parley.Config) { c.Duplex = tcp.Addr().String() },
		"realm":      func(c *parley.Config) { c.Realm = tcp.Addr().String() },
		"realm-time": func(c *parley.Config) { c.RealmTime = udp.LocalAddr().String() },
	} {
		c := field.Config()
		c.Accounts, c.DataDir = sqlite.OpenIn, t.TempDir() // the store is to be closed too
		change(&c)
		if err := startErr(arena.Game(), c); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// lines are the lines of a log. There is room for as many as a start has.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

// Without accounts realm is off, and the log says so and what to do.
func TestWithoutAccountsRealmIsOff(t *testing.T) {
	log := make(lines, 100)
	c := field.Replica()
	c.Realm, c.Accounts, c.Log = "", nil, logTo(log)
	s := field.Serve(t, arena.Game(), c)
	if got := s.Addrs(); len(got) != 1 || got[0].Name != "replica" {
		t.Errorf("%v listen", got)
	}
	wantLine(t, log, "realm is off, as Config.Accounts is nil: sqlite.OpenIn")
}

// logTo is a log that writes to somewhere.
func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

// wantLine waits for a line of a log.
func wantLine(t *testing.T, log lines, want string) {
	t.Helper()
	for end := time.After(time.Minute); ; {
		select {
		case line := <-log:
			if strings.Contains(line, want) {
				return
			}
		case <-end:
			t.Fatalf("the log does not say %q", want)
		}
	}
}

// closedStore counts how often it is closed.
type closedStore struct {
	account.Store
	times *atomic.Int32
}

func (s closedStore) Close() error {
	s.times.Add(1)
	return s.Store.Close()
}

// The store is opened in the data folder, and the server closes it.
func TestTheStoreIsOpenedAndClosed(t *testing.T) {
	var closed atomic.Int32
	c := field.Replica()
	c.Realm, c.RealmTime, c.RealmPlain, c.DataDir = field.Any, parley.Off, true, filepath.Join(t.TempDir(), "data")
	c.Accounts = func(dir string) (account.Store, error) {
		if dir != c.DataDir {
			t.Errorf("it is opened in %s", dir)
		}
		store, err := sqlite.OpenIn(dir)
		return closedStore{store, &closed}, err
	}
	s := field.Serve(t, arena.Game(), c)
	if _, err := os.Stat(filepath.Join(c.DataDir, sqlite.FileName)); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil || closed.Load() != 1 {
		t.Errorf("%v, and the store was closed %d times", err, closed.Load())
	}
}
