package parley_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley"
	"parley/arena"
	"parley/test/field"
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
