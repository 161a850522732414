package parley_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/arena"
	"parley/play/bots"
	"parley/protocol/relay"
	"parley/test/field"
	"parley/world"
)

// roomsOf returns the rooms of a server.
func roomsOf(t *testing.T, s *field.Server) []parley.RoomState {
	t.Helper()
	list, err := s.Rooms()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A server has the main room, and as many more as it is told to open, each as it was told.
func TestRoomsAreOpenedAndClosed(t *testing.T) {
	c := field.Replica()
	c.Mode, c.MaxRooms, c.MaxPlayers = "free for all", 3, 50
	s := field.Serve(t, arena.Game(), c)
	given := []string{"ann"}
	duel := parley.Room{Name: "duel-2", Seed: 9, Mode: "duel", MaxPlayers: 2, Closed: true, Accounts: given, Idle: time.Hour}
	if err := s.Open(duel); err != nil {
		t.Fatal(err)
	}
	given[0] = "eve" // what is the caller's stays the caller's
	if err := s.Open(parley.Room{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	got := roomsOf(t, s)
	want := []parley.Room{
		{Name: "a", MaxPlayers: 50, Idle: time.Minute},
		{Name: "duel-2", Seed: 9, Mode: "duel", MaxPlayers: 2, Closed: true, Accounts: []string{"ann"}, Idle: time.Hour},
		{Name: "main", Seed: 7, Mode: "free for all", MaxPlayers: 50},
	}
	for i := range want {
		if i >= len(got) || fmt.Sprint(got[i].Room) != fmt.Sprint(want[i]) || got[i].Players != 0 {
			t.Fatalf("the rooms are %+v", got)
		}
	}
	if err := s.Open(parley.Room{Name: "b"}); !errors.Is(err, parley.ErrTooManyRooms) || len(got) != 3 {
		t.Errorf("a fourth room: %v", err)
	}
	if err := s.CloseRoom("a"); err != nil {
		t.Error(err)
	}
	if err := s.CloseRoom("a"); !errors.Is(err, parley.ErrNoRoom) || !strings.Contains(err.Error(), "no such room: a") {
		t.Errorf("a room that is closed is closed again: %v", err)
	}
	if err := s.CloseRoom("main"); !errors.Is(err, parley.ErrMainRoom) {
		t.Errorf("the main room is closed: %v", err)
	}
	if err := s.Open(parley.Room{Name: "duel-2"}); !errors.Is(err, parley.ErrRoomThere) {
		t.Errorf("a room is opened twice: %v", err)
	}
	if err := s.Open(parley.Room{Name: "main"}); !errors.Is(err, parley.ErrRoomThere) {
		t.Errorf("the main room is opened: %v", err)
	}
	if err := s.Open(parley.Room{Name: "a"}); err != nil {
		t.Errorf("a name that is free again: %v", err)
	}
	s.Close()
	if err := s.Open(parley.Room{Name: "late"}); !errors.Is(err, parley.ErrClosed) {
		t.Errorf("a game that has ended opens a room: %v", err)
	}
	if _, err := s.Rooms(); !errors.Is(err, parley.ErrClosed) || !errors.Is(s.CloseRoom("a"), parley.ErrClosed) {
		t.Errorf("a game that has ended has rooms: %v", err)
	}
}

// What no room can be is refused with a sentence, and no room is there afterwards.
func TestBadRoomsAreRefused(t *testing.T) {
	s := field.Serve(t, arena.Game(), field.Replica())
	for _, tt := range []struct {
		room parley.Room
		want string
	}{
		{parley.Room{}, `a name has 1 to 32 of a-z, 0-9 and -`},
		{parley.Room{Name: "Arena"}, `a room named "Arena"`},
		{parley.Room{Name: "../etc"}, `a room named "../etc"`},
		{parley.Room{Name: "a b"}, `a room named "a b"`},
		{parley.Room{Name: "a\n"}, `a room named "a\n"`},
		{parley.Room{Name: "ä"}, `a room named "ä"`},
		{parley.Room{Name: strings.Repeat("a", 33)}, "a name has 1 to 32"},
		{parley.Room{Name: "a", MaxPlayers: -1}, "MaxPlayers must be 1 to"},
		{parley.Room{Name: "a", MaxPlayers: 5000}, "MaxPlayers must be 1 to"},
		{parley.Room{Name: "a", Mode: strings.Repeat("x", 256)}, "255 is the limit"},
	} {
		if err := s.Open(tt.room); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %q", tt.room, err, tt.want)
		}
	}
	for _, name := range []string{strings.Repeat("z", 32), "0", "-", "a-0"} {
		if err := s.Open(parley.Room{Name: name}); err != nil {
			t.Error(err)
		}
	}
	if got := len(roomsOf(t, s)); got != 5 {
		t.Errorf("there are %d rooms", got)
	}
}

// A room in which nobody is ends when its time is over.
func TestEmptyRoomsAreClosed(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := field.Serve(t, arena.Game(), field.Replica())
	for _, r := range []parley.Room{{Name: "short", Idle: time.Millisecond}, {Name: "long"}, {Name: "for-ever", Idle: -1}} {
		if err := s.Open(r); err != nil {
			t.Fatal(err)
		}
	}
	s.Within(t, "the room is closed", func() bool { return len(roomsOf(t, s)) == 3 })
	if got := roomsOf(t, s); got[0].Name != "for-ever" || got[1].Name != "long" || got[2].Name != "main" {
		t.Errorf("the rooms are %+v", got)
	}
}

// enterRoom has somebody enter a room: a guest, or over realm ann.
func enterRoom(t *testing.T, s *field.Server, dialect, room string) *field.Visitor {
	t.Helper()
	c := bots.Config{Schema: s.Schema, Room: room, Plain: true}
	if dialect == "realm" {
		c.Name, c.Password, c.New = "ann", "correct horse", true
	}
	return field.Enter(t, dialect, s.At[dialect], c)
}

// Players of a room see, hear and read of their own room only, whatever their dialect.
func TestRoomsAreWorldsOfTheirOwn(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Config()
	c.StampRoom = "blue"
	s := field.Serve(t, arena.Game(), c)
	for i, name := range []string{"red", "blue"} {
		if err := s.Open(parley.Room{Name: name, Seed: uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	rooms := map[string][]*field.Visitor{}
	for room, dialects := range map[string][]string{"red": {"replica", "relay"}, "blue": {"duplex", "relay", "realm"}, "main": {"duplex", "replica"}} {
		for _, dialect := range dialects {
			rooms[room] = append(rooms[room], enterRoom(t, s, dialect, room))
		}
	}
	for room, all := range rooms {
		for _, v := range all {
			s.Within(t, v.Dialect+" in "+room+" sees its room", func() bool { n, _ := sees(v, 0); return n == len(all) })
		}
		if err := all[0].Say(t.Context(), "hello "+room); err != nil {
			t.Fatal(err)
		}
		if err := s.Broadcast(room, "welcome to "+room); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Broadcast("", "welcome all"); err != nil {
		t.Fatal(err)
	}
	for room, all := range rooms {
		for _, v := range all {
			for _, line := range []string{"hello " + room, "welcome to " + room, "welcome all"} {
				s.Within(t, v.Dialect+" in "+room+" reads "+line, func() bool { return v.Heard(line) })
			}
			for other := range rooms {
				if other != room && (v.Heard("hello "+other) || v.Heard("welcome to "+other)) {
					t.Errorf("%s in %s reads what is said in %s", v.Dialect, room, other)
				}
			}
			if n, _ := sees(v, 0); n != len(all) {
				t.Errorf("%s in %s sees %d players", v.Dialect, room, n)
			}
		}
	}
	spectator := field.Enter(t, "stamp", s.At["stamp"], bots.Config{Schema: s.Schema})
	s.Within(t, "a spectator sees the room blue", func() bool { n, _ := sees(spectator, 0); return n == len(rooms["blue"]) })
	for _, r := range roomsOf(t, s) {
		if r.Players != len(rooms[r.Name]) {
			t.Errorf("room %s has %d players", r.Name, r.Players)
		}
	}
	for i, p := range playersOf(t, s) {
		if want := []string{"blue", "blue", "blue", "main", "main", "red", "red"}[i]; p.Room != want || p.Away {
			t.Errorf("player %d is %+v, want one of %s", i, p, want)
		}
	}
	if err := s.Broadcast("green", "hello"); !errors.Is(err, parley.ErrNoRoom) {
		t.Errorf("a room that is not there hears: %v", err)
	}
	if err := s.Kick("green", 1, ""); !errors.Is(err, parley.ErrNoPlayer) {
		t.Errorf("of a room that is not there one is kicked: %v", err)
	}
}

// The players of a room that is closed are told, and those of other rooms notice nothing.
func TestPlayersAreToldThatTheirRoomIsClosed(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := field.Serve(t, arena.Game(), field.Config())
	var there []*field.Visitor
	if err := s.Open(parley.Room{Name: "duel"}); err != nil {
		t.Fatal(err)
	}
	for _, dialect := range []string{"replica", "relay", "duplex", "realm"} {
		there = append(there, enterRoom(t, s, dialect, "duel"))
	}
	other := enterRoom(t, s, "replica", "main")
	if err := s.CloseRoom("duel"); err != nil {
		t.Fatal(err)
	}
	for _, v := range there {
		// relay and duplex have a line of chat for it, and realm the reason of a kick.
		if why := v.Gone(); !strings.Contains(why, "room was closed") && !v.Heard("the room was closed") && !strings.Contains(why, "exit client_kicked") {
			t.Errorf("%s was told %q", v.Dialect, why)
		}
	}
	if got := roomsOf(t, s); len(got) != 1 || got[0].Players != 1 {
		t.Errorf("the rooms are %+v", got)
	}
	if err := other.Say(t.Context(), "still here"); err != nil {
		t.Fatal(err)
	}
	s.Within(t, "the main room goes on", func() bool { return other.Heard("still here") })
}

// A room whose game panics ends alone: its players are told, and nobody else notices. So it is with the main room, which
// cannot be entered any more.
func TestARoomThatPanicsEndsAlone(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, broken := range []string{"duel", "main"} {
		t.Run(broken, func(t *testing.T) {
			g := arena.Game()
			step := g.Step
			g.Step = func(w *world.World, in []world.Input) {
				for i := range in {
					if in[i].Kind == world.Act && w.Mode() == "broken" {
						panic("a bug in the game")
					}
				}
				step(w, in)
			}
			c := field.Replica()
			modes := map[string]string{broken: "broken"}
			c.Mode = modes["main"]
			s := field.Serve(t, g, c)
			if err := s.Open(parley.Room{Name: "duel", Mode: modes["duel"]}); err != nil {
				t.Fatal(err)
			}
			here, there := enterRoom(t, s, "replica", broken), enterRoom(t, s, "replica", map[string]string{"duel": "main", "main": "duel"}[broken])
			throw := s.Schema.ActionNamed("throw")
			if err := here.Act(throw, world.FloatValue(world.F32, 2), world.UintValue(world.Entity, 0)); err != nil {
				t.Fatal(err)
			}
			if why := here.Gone(); !strings.Contains(why, "its game failed") {
				t.Errorf("its player was told %q", why)
			}
			if err := there.Act(throw, world.FloatValue(world.F32, 2), world.UintValue(world.Entity, 0)); err != nil {
				t.Fatal(err)
			}
			s.Within(t, "the other room goes on", func() bool { return there.Acts() > 0 })
			if got := roomsOf(t, s); len(got) != 1 || got[0].Name == broken {
				t.Errorf("the rooms are %+v", got)
			}
		})
	}
}

// Who may enter is up to the room: one that is closed wants a ticket or a listed account, one that is full nobody, and with a
// ticket key the main room may leave accounts out.
func TestWhoMayEnterARoom(t *testing.T) {
	t.Parallel() // it waits for most of its time
	c := field.Config()
	s := field.Serve(t, arena.Game(), c)
	c.TicketKey, c.DataDir = relay.TicketKey("sixteen bytes and more"), t.TempDir()
	keyed := field.Serve(t, arena.Game(), c)
	c.NoMainAccounts, c.DataDir = true, t.TempDir()
	strict := field.Serve(t, arena.Game(), c)
	for _, r := range []parley.Room{{Name: "club", Closed: true, Accounts: []string{"Ann"}}, {Name: "pair", MaxPlayers: 1}} {
		if err := s.Open(r); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		s                   *field.Server
		dialect, room, name string
		want                string // what is told to who is not let in
	}{
		{s, "replica", "club", "", "room needs a ticket"},
		{s, "relay", "club", "", "room needs a ticket"},
		{s, "duplex", "club", "", "room needs a ticket"},
		{s, "realm", "club", "ann", ""},
		{s, "realm", "club", "bob", "no room"},
		{s, "replica", "nowhere", "", "no such room"},
		{s, "relay", "pair", "", ""},
		{s, "replica", "pair", "", "game is full"},
		{keyed, "replica", "main", "", "room needs a ticket"},
		{keyed, "realm", "main", "ann", ""},
		{strict, "realm", "main", "ann", "no room"},
	} {
		v, err := field.Visit(t.Context(), tt.dialect, tt.s.At[tt.dialect], bots.Config{
			Schema: tt.s.Schema, Room: tt.room, Plain: true, Name: tt.name, Password: "correct horse", New: true,
		})
		told := fmt.Sprint(err)
		in := false
		if err == nil {
			in, told = v.Wait(field.Patience), v.Ended()
			t.Cleanup(v.Leave)
		}
		if in != (tt.want == "") || !in && !strings.Contains(told, tt.want) {
			t.Errorf("%s into %s as %q: in %v, told %q", tt.dialect, tt.room, tt.name, in, told)
		}
	}
}
