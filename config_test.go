package parley_test

import (
	"bytes"
	"errors"
	"log/slog"
	"math"
	"net"
	"strings"
	"syscall"
	"testing"

	"parley"
	"parley/account/storetest"
	"parley/arena"
	"parley/protocol/realm"
	"parley/world"
)

// quietly is a server of one dialect, at a port of the system's choice.
func quietly() parley.Config {
	return parley.Config{
		Replica: "127.0.0.1:0", Stamp: parley.Off, Relay: parley.Off, Duplex: parley.Off, Realm: parley.Off,
		Accounts: new(storetest.Memory), Log: slog.New(slog.DiscardHandler),
	}
}

// What would make a server that nobody wants is an error that names the field.
func TestBadConfigsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(*parley.Config)
	}{
		{"Config.TickRate is 1 to 1000, or 0 for 20, not -1", func(c *parley.Config) { c.TickRate = -1 }},
		{"Config.TickRate", func(c *parley.Config) { c.TickRate = 1001 }},
		{"Config.MaxPlayers", func(c *parley.Config) { c.MaxPlayers = -1 }},
		{"Config.MaxPlayers", func(c *parley.Config) { c.MaxPlayers = 5000 }},
		{"Config.Sight", func(c *parley.Config) { c.Sight = math.NaN() }},
		{"RealmExtension 0 values", func(c *parley.Config) { c.RealmConfig = []realm.Field{{Name: "x", Type: realm.TypeU8}} }},
		{"kind player is number 1", func(c *parley.Config) {
			c.Realm, c.RealmTime, c.RealmPlain, c.RealmFirstType = "127.0.0.1:0", parley.Off, true, 2
		}},
		{"replica: udp: listen on nowhere", func(c *parley.Config) { c.Replica = "nowhere" }},
	} {
		c := quietly()
		tt.change(&c)
		s, err := parley.Start(arena.Game(), c)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("the error is %v, want %q", err, tt.want)
		}
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
		s, err := parley.Start(g, quietly())
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "cannot be named") {
			t.Errorf("%T: the error is %v", action, err)
		}
		c := quietly()
		c.Replica, c.Stamp = parley.Off, "127.0.0.1:0" // over the others actions have numbers
		if s, err = parley.Start(g, c); err != nil {
			t.Errorf("%T: %v", action, err)
			continue
		}
		s.Close()
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
	c := quietly()
	c.TickRate, c.Record, c.Log = 1000, &fullDisk{1000}, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
	s, err := parley.Start(arena.Game(), c)
	if err != nil {
		t.Fatal(err)
	}
	within(t, s, "the disk is full", func() bool { return s.WorldStats().Ticks > 100 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "no space left on device") {
		t.Errorf("the log is %q", text)
	}
}

// A server that cannot start closes what it had opened: TestMain looks for goroutines that are left.
func TestAPortInUseLeavesNothingBehind(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	const any = "127.0.0.1:0"
	for name, change := range map[string]func(*parley.Config){
		"replica":    func(c *parley.Config) { c.Replica = udp.LocalAddr().String() },
		"stamp":      func(c *parley.Config) { c.Stamp = udp.LocalAddr().String() },
		"relay":      func(c *parley.Config) { c.Relay = udp.LocalAddr().String() },
		"connector":  func(c *parley.Config) { c.Relay, c.RelayConnector = udp.LocalAddr().String(), true },
		"duplex":     func(c *parley.Config) { c.Duplex = tcp.Addr().String() },
		"realm":      func(c *parley.Config) { c.Realm = tcp.Addr().String() },
		"realm-time": func(c *parley.Config) { c.RealmTime = udp.LocalAddr().String() },
	} {
		c := quietly()
		c.Accounts, c.DataDir = nil, t.TempDir() // the store is to be closed too
		c.Replica, c.Stamp, c.Relay, c.Duplex, c.Realm, c.RealmTime, c.RealmPlain = any, any, any, any, any, any, true
		change(&c)
		if s, err := parley.Start(arena.Game(), c); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				s.Close()
			}
		}
	}
}
