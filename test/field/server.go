package field

import (
	"cmp"
	"log/slog"
	"strings"
	"testing"

	"parley"
	"parley/account/storetest"
	"parley/internal/patient"
	"parley/play/bots"
	"parley/world"
)

// Any is an address at a port of the system's choice.
const Any = "127.0.0.1:0"

// Config is of a server of all dialects. Accounts are in memory, and nothing is logged.
func Config() parley.Config {
	return parley.Config{
		Replica: Any, Stamp: Any, Relay: Any, Duplex: Any, Realm: Any, RealmTime: Any, RealmPlain: true,
		Accounts: storetest.OpenMemory, Registrations: -1, Seed: 7, Sight: -1, Log: slog.New(slog.DiscardHandler),
	}
}

// Replica is Config without the other dialects.
func Replica() parley.Config {
	c := Config()
	c.Stamp, c.Relay, c.Duplex, c.Realm = parley.Off, parley.Off, parley.Off, parley.Off
	return c
}

// Server is a running server.
type Server struct {
	*parley.Server
	At     map[string]string // the address of each dialect
	Schema *world.Schema
}

// Start starts a server.
func Start(game world.Game, c parley.Config) (*Server, error) {
	sim, err := world.New(game, world.Config{})
	if err != nil {
		return nil, err
	}
	s, err := parley.Start(game, c)
	if err != nil {
		return nil, err
	}
	at := map[string]string{}
	for _, a := range s.Addrs() {
		at[a.Name] = a.Addr.String()
	}
	return &Server{s, at, sim.Schema()}, nil
}

// Serve starts a server that ends with the test.
func Serve(t testing.TB, game world.Game, c parley.Config) *Server {
	t.Helper()
	c.DataDir = cmp.Or(c.DataDir, t.TempDir())
	s, err := Start(game, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A disk that others use may be late, which Close says of rooms that are kept.
		if err := s.Close(); err != nil && !strings.Contains(err.Error(), "the disk has not answered") {
			t.Error(err)
		}
	})
	return s
}

// Within waits for something, as long as the server lives. Ticks that are late do not count: of those a server that has
// stood still runs hundreds in a moment, in which its clients do nothing. Rooms without anybody have no ticks, so the wait has
// another end too.
func (s *Server) Within(t testing.TB, what string, cond func() bool) {
	t.Helper()
	defer patient.End().Stop()
	punctual := func() uint64 { st := s.WorldStats(); return st.Ticks - st.LateTicks }
	for begin := punctual(); !cond(); {
		if int64(punctual()-begin) > 1000 { // less than 0 while a late tick is being run, which is counted as late first
			t.Fatalf("%s: not within 1,000 ticks", what)
		}
		s.Players() // waits for the hub, which has other things to do
	}
}

// Audience has somebody in the main room until the test ends, so that the room has ticks: an empty room sleeps. It returns at
// once: the game may end before the visitor is in.
func (s *Server) Audience(t testing.TB) *Visitor {
	t.Helper()
	for _, dialect := range []string{"replica", "stamp", "relay", "duplex"} {
		addr, there := s.At[dialect]
		if !there {
			continue
		}
		v, err := Visit(t.Context(), dialect, addr, bots.Config{Schema: s.Schema})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Leave)
		return v
	}
	t.Fatal("no dialect listens over which somebody could come")
	return nil
}

// Schema returns the schema of a game.
func Schema(t testing.TB, game world.Game) *world.Schema {
	t.Helper()
	sim, err := world.New(game, world.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return sim.Schema()
}
