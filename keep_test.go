package parley_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley"
	"parley/arena"
	"parley/play/bots"
	"parley/test/field"
)

// A server that keeps its rooms goes on where it was: the same rooms, and the same players in them.
func TestKeptRoomsGoOn(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, mode := range []parley.Keep{parley.KeepSecond, parley.KeepTick} {
		t.Run(mode.String(), func(t *testing.T) {
			c := field.Replica()
			c.Keep, c.DataDir, c.Mode = mode, filepath.Join(t.TempDir(), "data"), "free"
			s := field.Serve(t, arena.Game(), c)
			duel := parley.Room{Name: "duel", Seed: 5, Mode: "two", MaxPlayers: 2, Idle: -1}
			for _, r := range []parley.Room{duel, {Name: "closed"}} {
				if err := s.Open(r); err != nil {
					t.Fatal(err)
				}
			}
			here := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema, Room: "duel", Name: "ann"})
			before := playersOf(t, s)[0]
			s.Within(t, "its session is told", func() bool { token, _ := here.Session(); return token != [16]byte{} })
			token, _ := here.Session()
			from, _ := here.Own()
			acked := s.WorldStats().Ticks
			s.Within(t, "the server knows that it was", func() bool { return s.WorldStats().Ticks > acked+20 })
			if err := s.CloseRoom("closed"); err != nil {
				t.Fatal(err)
			}
			tick := roomsOf(t, s)[0].Tick
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}

			c.Seed, c.Mode = 99, "other" // for a new room
			s = field.Serve(t, arena.Game(), c)
			rooms := roomsOf(t, s)
			if len(rooms) != 2 || rooms[1].Name != "main" || rooms[1].Seed != 7 || rooms[1].Mode != "free" {
				t.Fatalf("the rooms are %+v", rooms)
			}
			if r := rooms[0]; r.Name != "duel" || r.Seed != 5 || r.Mode != "two" || r.MaxPlayers != 2 || r.Idle != -1 || !r.Kept || r.Tick < tick || r.Away != 1 || r.Players != 1 || r.Asleep {
				t.Errorf("the room is %+v, and was at tick %d", r, tick)
			}
			if p := playersOf(t, s)[0]; p.ID != before.ID || p.Name != "ann" || !p.Away {
				t.Errorf("the player is %+v, and was %+v", p, before)
			}
			again := field.Enter(t, "replica", s.At["replica"], bots.Config{Schema: s.Schema, Session: token})
			if p := playersOf(t, s); len(p) != 1 || p[0].ID != before.ID || p[0].Away || p[0].Room != "duel" {
				t.Errorf("back is %+v, who was %+v", p, before)
			}
			if own, there := again.Own(); !there || own.X != from.X || own.Y != from.Y {
				t.Errorf("it is at (%v, %v), and was at (%v, %v)", own.X, own.Y, from.X, from.Y)
			}
			if st := s.Stats().Keep; st == nil || st.Rooms != 2 || st.InTrouble != 0 {
				t.Errorf("the counters are %+v", st)
			}
			if err := s.Trouble(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A folder with rooms is one server's. One that is told to keep nothing makes no folder.
func TestAFolderIsOneServers(t *testing.T) {
	c := field.Replica()
	c.DataDir = filepath.Join(t.TempDir(), "data")
	field.Serve(t, arena.Game(), c)
	if _, err := os.Stat(c.DataDir); !os.IsNotExist(err) {
		t.Errorf("there is a folder: %v", err)
	}
	c.Keep = parley.KeepSecond
	s := field.Serve(t, arena.Game(), c)
	if err := startErr(arena.Game(), c); err == nil || !strings.Contains(err.Error(), "another server uses the folder") {
		t.Errorf("a second server is told %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	bad := c
	bad.Replica = "nowhere"
	if err := startErr(arena.Game(), bad); err == nil {
		t.Error("it starts nowhere")
	}
	if err := startErr(arena.Game(), c); err != nil {
		t.Errorf("a server that ended, or did not start, holds the folder: %v", err)
	}
}
